"""Hints about event time that stands still: only the time in which the job ran counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common import WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.hints import PATIENCE_MS, StalledWatermarks
from firesteel.execution.results import Place, SubtaskDone
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.epoch import SubtaskReport
from firesteel.runtime.remarks import MadeWatermarks
from tests.unit.execution.plans import plan_of


def two_sources(env: StreamExecutionEnvironment) -> Any:
    by_value = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    busy = env.from_collection([1]).assign_timestamps_and_watermarks(by_value).uid("busy")
    quiet = env.from_collection([1]).assign_timestamps_and_watermarks(by_value).uid("quiet")
    return busy.union(quiet).key_by(lambda n: n).reduce(max).uid("meeting").print()


def epoch(plan: JobPlan, marks: Mapping[str, int]) -> list[SubtaskDone]:
    """What subtasks report whose event time is there."""
    uids = [operator.info.uid for chain in plan.chains for operator in chain.operators]
    done = []
    for uid in uids:
        report = SubtaskReport(0, 0)
        at = marks.get(uid, min(marks.values()))
        report.metrics[uid] = {"currentOutputWatermark": at, "currentInputWatermark": at}
        if uid in marks:
            report.remarks.watermarks[uid] = MadeWatermarks(at, False, False, True)
        done.append(SubtaskDone(0, 0, "1", report, Place("here", 1)))
    return done


def test_an_input_that_is_silent_for_long_is_named() -> None:
    plan = plan_of(two_sources)
    stalls = StalledWatermarks(plan)
    assert not list(stalls.observe(epoch(plan, {"busy": 1, "quiet": 1}), 0))
    assert not list(stalls.observe(epoch(plan, {"busy": 2, "quiet": 1}), PATIENCE_MS - 1))
    (stall,) = stalls.observe(epoch(plan, {"busy": 3, "quiet": 1}), PATIENCE_MS)
    assert (stall.waiting, stall.source) == ("meeting", "quiet")


def test_time_in_which_the_job_did_not_run_is_no_silence() -> None:
    plan = plan_of(two_sources)
    stalls = StalledWatermarks(plan)
    assert not list(stalls.observe(epoch(plan, {"busy": 1, "quiet": 1}), 0))
    stalls.forget_times()  # it fails, waits, and starts again
    assert not list(stalls.observe(epoch(plan, {"busy": 2, "quiet": 1}), 10 * PATIENCE_MS))
    assert not list(stalls.observe(epoch(plan, {"busy": 3, "quiet": 1}), 11 * PATIENCE_MS - 1))
    assert list(stalls.observe(epoch(plan, {"busy": 4, "quiet": 1}), 11 * PATIENCE_MS))
