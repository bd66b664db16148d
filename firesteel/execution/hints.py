"""Hints about programs that run and do not do what was meant: each is given once, at the line that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.common.warnings import warn_at
from firesteel.execution.results import SubtaskDone
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.remarks import MadeWatermarks, Remarks

_K = TypeVar("_K")

PATIENCE_MS = 10_000
"""How long an input may be silent before it is named as what holds event time up."""

_UNITS = (
    (10**9, 2_500_000_000, "seconds", "multiply them by 1000"),
    (10**15, 3 * 10**15, "microseconds", "divide them by 1000"),
    (10**18, 3 * 10**18, "nanoseconds", "divide them by 1000000"),
)
"""Times of our days in other units than milliseconds: in milliseconds they are of 1970, or of years far away."""

_SECOND_MS = 1000
"""Whole seconds in January 1970 are made up: days that are counted from 1."""


class JobHints:
    """Looks at what the subtasks report, once per epoch."""

    def __init__(self, plan: JobPlan) -> None:
        self._infos = {operator.info.uid: operator.info for chain in plan.chains for operator in chain.operators}
        self._declared_tags = plan.declared_tags
        self._stalls = StalledWatermarks(plan)
        self._other_keys: set[int] = set()
        self._given: set[tuple[str, str]] = set()

    def begin_run(self) -> None:
        """The job starts, for the first time or again: while it did not run, nothing could come."""
        self._stalls.forget_times()

    def observe(self, results: list[SubtaskDone], now: int) -> None:
        """Take in an epoch, and warn about what it shows.

        :param now: When the epoch ended: it may have begun with waiting for slots to start.
        """
        reports = [result.report for result in results]
        only_none: dict[int, OperatorInfo] = {}
        for report in reports:
            self._look_at_timestamps(report.remarks)
            for info, tag in report.remarks.undeclared:
                if tag not in self._declared_tags.get(info.uid, ()):
                    self._say("side output", info, _undeclared(info, tag), tag)
            for edge, (info, only) in report.remarks.only_none.items():
                only_none[edge] = info
                if not only:
                    self._other_keys.add(edge)
        for edge, info in only_none.items():
            if edge not in self._other_keys:
                self._say("key", info, _NONE_KEY)
        for stall in self._stalls.observe(results, now):
            self._say("watermark", self._infos[stall.source], _stalled(stall, self._infos))

    def _look_at_timestamps(self, remarks: Remarks) -> None:
        for uid, made in remarks.watermarks.items():
            for low, high, unit, cure in _UNITS:
                if low <= made.last < high and (unit != "seconds" or (made.last + 1) % _SECOND_MS):
                    info = self._infos[uid]
                    text = f"timestamps are milliseconds, but those of {info.name!r} look like {unit}: {cure}"
                    self._say("timestamps", info, f"{text}. Event time is at {made.last}.")

    def _say(self, kind: str, info: OperatorInfo, text: str, detail: str = "") -> None:
        subject = (kind, f"{info.call_site} {info.uid} {detail}")
        if subject not in self._given:
            self._given.add(subject)
            warn_at(info.call_site, text)


_NONE_KEY = (
    "every key of this key_by() has been None so far: all records meet in one subtask and share one state. Does the "
    "key selector return the key?"
)


def _undeclared(info: OperatorInfo, tag: str) -> str:
    return (
        f"{info.name!r} has sent records to the side output {tag!r}, which nobody reads: they are dropped. "
        f"Call get_side_output(OutputTag({tag!r}, ...)) on this operator's stream."
    )


@dataclass(frozen=True)
class Stall:
    """An operator whose event time stands still: what waits, for which subtask of which operator, since what mark."""

    waiting: str
    source: str
    subtask: int
    watermark: int
    has_strategy: bool


def _stalled(stall: Stall, infos: dict[str, OperatorInfo]) -> str:
    waiting, source = infos[stall.waiting], infos[stall.source]
    at = "at its beginning" if stall.watermark == MIN_WATERMARK else f"at {stall.watermark}"
    cure = (
        "Give its WatermarkStrategy with_idleness(...), and others go on without it."
        if stall.has_strategy
        else "It has no WatermarkStrategy: give it one, with with_idleness(...) if it may be silent."
    )
    return (
        f"event time stands still {at} in {waiting.name!r} (made at {waiting.call_site}): it waits for subtask "
        f"{stall.subtask} of {source.name!r}, from which nothing has come for {PATIENCE_MS // 1000} seconds, while "
        f"other inputs go on. Neither windows nor event-time timers fire until then. {cure}"
    )


class StalledWatermarks:
    """Finds operators that wait for a silent input while another one goes on."""

    def __init__(self, plan: JobPlan) -> None:
        self._plan = plan
        self._heads = {chain.operators[0].info.uid: chain.id for chain in plan.chains if chain.operators[0].inputs}
        self._waits_for: dict[str, list[str]] = {}
        self._made: dict[tuple[str, int], tuple[int, int]] = {}
        """Operator and subtask -> its watermark, and since when it has it."""
        self._reached: dict[str, tuple[int, int]] = {}
        """Head of a chain -> its watermark, and since when it has it."""

    def forget_times(self) -> None:
        """Count from the next epoch on."""
        self._made.clear()
        self._reached.clear()

    def observe(self, results: list[SubtaskDone], now: int) -> Iterator[Stall]:
        """Take in an epoch."""
        makers = {
            (uid, result.index): made for result in results for uid, made in result.report.remarks.watermarks.items()
        }
        inputs: dict[str, int] = {}
        for result in results:
            for uid, numbers in result.report.metrics.items():
                if (uid, result.index) in makers:
                    _note(self._made, (uid, result.index), numbers["currentOutputWatermark"], now)
                if uid in self._heads:
                    inputs[uid] = min(inputs.get(uid, MAX_WATERMARK), numbers["currentInputWatermark"])
        for uid, watermark in inputs.items():
            _note(self._reached, uid, watermark, now)
            stall = self._stall(uid, makers, now)
            if stall is not None:
                yield stall

    def _stall(self, uid: str, makers: dict[tuple[str, int], MadeWatermarks], now: int) -> Stall | None:
        watermark, since = self._reached[uid]
        if now - since < PATIENCE_MS or watermark == MAX_WATERMARK:
            return None
        waits_for = self._makers_before(uid, {maker for maker, _ in makers})
        slow, goes_on = None, False
        for (maker, subtask), made in makers.items():
            if maker in waits_for:
                mark, mark_since = self._made[maker, subtask]
                goes_on = goes_on or (mark > watermark and now - mark_since < PATIENCE_MS)
                if mark <= watermark and now - mark_since >= PATIENCE_MS and not (made.idle or made.notices_idleness):
                    slow = slow or Stall(uid, maker, subtask, watermark, made.has_strategy)
        return slow if goes_on else None

    def _makers_before(self, uid: str, makers: set[str]) -> list[str]:
        """The operators whose watermarks the head of a chain combines."""
        if uid not in self._waits_for:
            self._waits_for[uid] = sorted(set(self._walk(self._heads[uid], makers)))
        return self._waits_for[uid]

    def _walk(self, chain_id: int, makers: set[str]) -> Iterator[str]:
        for edge in self._plan.edges:
            if edge.target == chain_id:
                yield from self._walk_up(edge.operator, makers)

    def _walk_up(self, operator: int, makers: set[str]) -> Iterator[str]:
        chain = next(chain for chain in self._plan.chains if any(each.id == operator for each in chain.operators))
        uids = {each.id: each.info.uid for each in chain.operators}
        if uids[operator] in makers:
            yield uids[operator]
            return
        before = [edge.operator for edge in chain.chained_edges if edge.target == operator]
        for each in before:
            yield from self._walk_up(each, makers)
        if not before:
            yield from self._walk(chain.id, makers)


def _note(marks: dict[_K, tuple[int, int]], key: _K, watermark: int, now: int) -> None:
    """Remember a watermark with the time since when it is there."""
    if key not in marks or marks[key][0] != watermark:
        marks[key] = (watermark, now)
