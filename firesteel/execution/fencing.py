"""Checks that what was computed in an epoch fits together, whatever Spark ran twice."""

from __future__ import annotations

from firesteel.execution.results import SubtaskDone
from firesteel.plan.job_plan import JobPlan


def fencing_violation(plan: JobPlan, results: list[SubtaskDone]) -> str | None:
    """What does not fit: a subtask that is missing, chunks of an attempt that does not count, chunks that got lost.

    A lost shuffle block makes Spark compute part of a stage again after others have read its first output. Sources
    that read "what is there now" give something else then, so the epoch has to be thrown away.
    """
    by_place = {(result.level, result.index): result for result in results}
    expected = sum(plan.width(level) for level in range(plan.level_count))
    if len(by_place) != len(results) or len(results) != expected:
        return f"{len(results)} subtasks reported where {expected} run"
    level_of_producer = _producer_levels(plan)
    for result in results:
        for (edge, sender), (attempt, count) in result.report.received.items():
            producer = by_place[level_of_producer[edge], sender]
            if attempt != producer.attempt:
                return f"subtask {result.index} of level {result.level} read attempt {attempt}, not {producer.attempt}"
            sent = producer.report.sent.get((edge, result.index), 0)
            if sent != count:
                return f"subtask {result.index} of level {result.level} got {count} of {sent} chunks on edge {edge}"
    if sum(sum(r.report.sent.values()) for r in results) != sum(
        count for r in results for _, count in r.report.received.values()
    ):
        return "chunks were sent that nobody received"
    return None


def _producer_levels(plan: JobPlan) -> dict[int, int]:
    level_of = {operator.id: chain.level for chain in plan.chains for operator in chain.operators}
    return {edge.id: level_of[edge.operator] for edge in plan.edges}
