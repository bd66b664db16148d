"""Back pressure of direct exchange: a slow slot slows its senders, and what waits for it stays small."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.direct import in_process
from firesteel.execution.direct.slot_flow import Message, SlotFlow

WINDOW = 4_000
RECORDS = 60_000
TURNS_ASLEEP = 40


class Counts:
    """Bytes of chunks for the second level of the slow slot."""

    def __init__(self) -> None:
        self.waiting = self.most = self.largest_message = self.total = 0


class SleepySlot(SlotFlow):
    """Slot 1 works only now and then; slot 0 whenever it may."""

    counts: Counts

    def __init__(self, slot: int, *others: Any) -> None:
        super().__init__(slot, *others)
        self._turn = 0

    def step(self, now: int) -> bool:
        self._turn += 1
        if self._slot == 1 and not self._stopping and self._turn % TURNS_ASLEEP:
            return True
        worked = super().step(now)
        if self._slot == 1:
            self.counts.waiting = sum(len(row[6]) for _, row in self._inboxes[1, 1])
        return worked

    def receive(self, sender: int, message: Message) -> None:
        super().receive(sender, message)
        if self._slot == 1 and message[0] == "rows":
            size, counts = sum(len(row[6]) for row in message[1]), self.counts
            counts.total += size
            counts.waiting += size
            counts.most = max(counts.most, counts.waiting)
            counts.largest_message = max(counts.largest_message, size)


@pytest.mark.feature("RT-06")
def test_a_slow_sink_slows_the_source_and_what_waits_stays_within_the_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SleepySlot, "counts", counts := Counts(), raising=False)
    monkeypatch.setattr(in_process, "SlotFlow", SleepySlot)
    options = {
        "execution.target": "in-process",
        "firesteel.exchange": "direct",
        "firesteel.direct.window": f"{WINDOW} b",
        "firesteel.chunk.max-records": "100",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options)).set_parallelism(2)
    with env.from_sequence(1, RECORDS).key_by(lambda n: n).map(lambda n: n).execute_and_collect() as collected:
        assert sorted(collected) == list(range(1, RECORDS + 1))
    # Each of two senders stops when its window is full: it may be over it by what it sends at once.
    assert counts.most <= 2 * (WINDOW + counts.largest_message)
    assert counts.total > 5 * counts.most
