"""The simulation of many subtasks: what it makes is what the engine takes."""

from __future__ import annotations

from bench import scale
from firesteel.execution.fencing import fencing_violation
from firesteel.state.store import Manifest


def test_simulated_reports_fit_together() -> None:
    plan = scale.plan_for(4)
    results = [scale.report_of(plan, level, index, 4) for level in (0, 1) for index in range(4)]
    assert fencing_violation(plan, results) is None
    assert fencing_violation(plan, results[1:]) is not None


def test_a_simulated_manifest_can_be_read() -> None:
    manifest = scale.manifest_for(scale.plan_for(3), 3)
    read = Manifest.from_bytes(manifest.to_bytes(), "here")
    assert read.operators == manifest.operators
    assert {len(names) for each in read.operators.values() for names in each.files.values()} == {scale.FILES}


def test_costs_grow_with_the_number_of_subtasks() -> None:
    few, many = scale.measure(2), scale.measure(20)
    assert few.report_bytes < many.report_bytes
    assert few.restore_bytes < many.restore_bytes
    assert "| 20 |" in scale.describe([few, many])
