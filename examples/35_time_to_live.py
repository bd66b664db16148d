"""State that expires: what a key has not written for a while is as if it had never been there."""

from collections.abc import Iterator

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import StateTtlConfig, ValueStateDescriptor
from firesteel.testing import ManualClock, ScriptedSource, element, processing_time, use_clock

ONE_SECOND = (
    StateTtlConfig.new_builder(Time.seconds(1))
    .set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)
    .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
    .build()
)
# Expired state is never seen, but takes room until it is cleaned up. Where and when:
WHEN_READ = StateTtlConfig.new_builder(Time.seconds(1)).disable_cleanup_in_background().build()
IN_SNAPSHOTS = StateTtlConfig.new_builder(Time.seconds(1)).cleanup_full_snapshot().build()
SOME_AT_A_TIME = StateTtlConfig.new_builder(Time.seconds(1)).cleanup_incrementally(10, True).build()
IN_ROCKSDB = StateTtlConfig.new_builder(Time.seconds(1)).cleanup_in_rocksdb_compact_filter(1000).build()


class Deduplicator(FlatMapFunction):
    """Lets a word through if the same word has not come for a second."""

    def __init__(self, ttl: StateTtlConfig) -> None:
        self.ttl = ttl

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("text state", Types.STRING())
        descriptor.enable_time_to_live(self.ttl)
        self.seen = runtime_context.get_state(descriptor)

    def flat_map(self, value: str) -> Iterator[str]:
        if self.seen.value() is None:
            self.seen.update(value)
            yield value


def main() -> None:
    clock = ManualClock(0)  # processing time, moved by the script below instead of by waiting
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    script = [element("a"), element("b"), element("a"), processing_time(999), element("a")]
    script += [processing_time(1000), element("a"), element("c"), processing_time(1500), element("b"), element("a")]

    words = env.from_source(ScriptedSource(script, clock=clock), WatermarkStrategy.no_watermarks(), "words")
    words.key_by(lambda word: word).flat_map(Deduplicator(ONE_SECOND)).print()

    with use_clock(clock):
        env.execute("time to live")
    for name, ttl in {"when read": WHEN_READ, "some at a time": SOME_AT_A_TIME, "in RocksDB": IN_ROCKSDB}.items():
        print(f"{name}: cleanup in background is", ttl.get_cleanup_strategies().is_cleanup_in_background())


if __name__ == "__main__":
    main()

# Output:
# a
# b
# a
# c
# b
# when read: cleanup in background is False
# some at a time: cleanup in background is True
# in RocksDB: cleanup in background is True
