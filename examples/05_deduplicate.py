"""Let each event through once: a flat_map on a keyed stream, with a flag per key."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor


class Deduplicator(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def flat_map(self, value: str) -> Iterator[str]:
        if not self.seen.value():
            self.seen.update(True)
            yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    events = env.from_elements("a", "b", "a", "c", "b")
    events.key_by(lambda event: event).flat_map(Deduplicator()).print().set_parallelism(1)

    env.execute("deduplicate")


if __name__ == "__main__":
    main()

# Output, in any order:
# a
# b
# c
