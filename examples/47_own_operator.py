"""An operator of one's own: the last reading of each sensor in each minute, when the minute is over.

An operator gets batches, not records, keeps its state in tables and decides when watermarks go on. Each of its rules is
explained in docs/user-guide/operators.md.
"""

from typing import Any

from firesteel.common import WatermarkStrategy
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.operators import KeyedTimerService, Operator, RowBatch, SideBuffer, copied, value_table

MINUTE = 60_000
OVERTAKEN = OutputTag("overtaken")

# (sensor, second, value)
READINGS = [
    ("kitchen", 5, 20.5),
    ("cellar", 10, 11.0),
    ("kitchen", 50, 20.9),
    ("kitchen", 61, 21.2),
    ("cellar", 130, 10.8),
    ("kitchen", 30, 20.0),  # a later one has come already
    ("kitchen", 131, 21.5),
]


class LastPerMinute(Operator):
    """Keeps, per key, the last record of each minute of event time, and emits it at the minute's end.

    Records that come behind a later one of their minute go to a side output, as do those whose minute is over.
    """

    takes_sorted_input = False  # in BATCH mode too, records come in the order of the stream

    def open(self) -> None:
        keyed = self.context.keyed_state
        assert keyed is not None, "LastPerMinute needs a keyed stream"
        self._scope = keyed.scope
        self._last = value_table(keyed, "last")  # key -> {end of the minute: (timestamp, record)}
        self._timers = KeyedTimerService(self, keyed)
        self._overtaken = SideBuffer(copied)

    def process(self, batch: RowBatch) -> None:
        assert batch.timestamps is not None and batch.keys is not None
        self.cursor = values = iter(batch.values)
        for value, stamp, key in zip(values, batch.timestamps, batch.keys):
            end = stamp - stamp % MINUTE + MINUTE - 1
            minutes = self._last.entries.get(key) or {}
            if end <= self.watermark or (end in minutes and minutes[end][0] > stamp):
                self._overtaken.add(OVERTAKEN, value, stamp)
                continue
            if end not in minutes:
                self._scope.key = key
                self._timers.register_event_time_timer(end)
            minutes[end] = (stamp, value)
            self._last.put(key, minutes)
        self._overtaken.flush(self.output)

    def advance_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        made: list[Any] = []
        stamps: list[int] = []

        def fire(end: int, key: Any, namespace: Any) -> None:
            minutes = self._last.entries[key]
            made.append(minutes.pop(end)[1])
            stamps.append(end)
            if minutes:
                self._last.put(key, minutes)
            else:
                self._last.remove(key)

        self._timers.fire_event_time(watermark, fire)
        self.output.emit(RowBatch(made, stamps))
        if not self._timers.event_time_due(watermark):
            self.output.emit_watermark(watermark)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    by_second = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda each, _: each[1] * 1000)
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(by_second)

    last = readings.key_by(lambda each: each[0]).transform("Last per Minute", None, LastPerMinute)
    last.print().set_parallelism(1)
    last.get_side_output(OVERTAKEN).print("overtaken").set_parallelism(1)
    env.execute("last reading of each minute")


if __name__ == "__main__":
    main()

# Output, in any order:
# ('kitchen', 50, 20.9)
# ('cellar', 10, 11.0)
# ('kitchen', 61, 21.2)
# ('cellar', 130, 10.8)
# ('kitchen', 131, 21.5)
# overtaken> ('kitchen', 30, 20.0)
