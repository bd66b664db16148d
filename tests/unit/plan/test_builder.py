"""The builder of graphs: numbers, call sites, what belongs to a job."""

from __future__ import annotations

import pytest

from firesteel.model.output_tag import OutputTag
from firesteel.plan import unexecuted
from firesteel.plan.graph import UnionTransformation, is_broadcast, keys_of
from firesteel.runtime import partitioners
from firesteel.runtime.iteration import IterationHead, IterationTail
from firesteel.runtime.partitioners import Partitioning
from tests.unit.plan.programs import KEYED, Program


def test_nodes_are_numbered_and_know_the_line_that_made_them() -> None:
    program = Program()
    first, second = program.numbers(), program.numbers()
    assert [first.id, second.id] == [1, 2]
    assert first.call_site.startswith(__file__.rsplit("/", 1)[0])


def test_only_the_last_partitioning_counts() -> None:
    program = Program()
    source = program.numbers()
    twice = program.partition(program.key_by(source), "broadcast()", Partitioning(partitioners.BROADCAST))
    assert twice.inputs == [source]
    assert is_broadcast(twice) and keys_of(twice) is None
    assert keys_of(program.key_by(source)) is KEYED and not is_broadcast(source)


def test_a_union_has_a_type_if_all_its_inputs_have_the_same() -> None:
    program = Program()
    node = program.union([program.numbers(), program.numbers()])
    assert isinstance(node, UnionTransformation) and node.output_type is None


def test_a_side_output_is_noted_at_its_producer() -> None:
    program = Program()
    producer = program.map(program.numbers())
    program.side_output(producer, OutputTag("late"))
    assert producer.declared_tags == {OutputTag("late").name}


def test_a_node_that_is_made_belongs_to_no_job_until_it_is_added_with_what_it_reads() -> None:
    program = Program()
    former = program.map(program.numbers())
    program.clear()
    assert program.graph.transformations == [] and not program.contains(former)
    made = program.make(type(former), "later", [former], factory=former.factory)
    assert program.graph.transformations == []
    program.add(made)
    assert [node.name for node in program.graph.transformations] == ["Source: numbers", "map", "later"]


def test_a_loop_of_a_former_job_brings_its_way_back() -> None:
    program = Program()
    head = program.loop(program.numbers(), IterationHead)
    program.feedback(head, program.map(head), IterationTail)
    program.clear()
    program.end(head)
    assert {node.name for node in program.graph.transformations} == {
        "Source: numbers",
        "Iterate",
        "map",
        "Feedback",
        "Sink: end",
    }


def test_sinks_that_never_run_are_remembered_until_the_job_is_run_or_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    defined: dict[int, list[str]] = {}
    monkeypatch.setattr(unexecuted, "_defined", defined)
    program = Program()
    program.end(program.numbers())
    assert [len(sites) for sites in defined.values()] == [1]
    program.looked_at()
    assert defined == {}
