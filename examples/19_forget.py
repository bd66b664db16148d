"""State that is cleared: after clear() a key is as if it had never been seen."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.datastream import FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

Event = tuple[str, str]
"""The key, and what happened: "seen" or "forget"."""


class Deduplicator(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.key_has_been_seen = runtime_context.get_state(ValueStateDescriptor("keyHasBeenSeen", Types.BOOLEAN()))

    def flat_map(self, value: Event) -> Iterator[Event]:
        if value[1] == "forget":
            self.key_has_been_seen.clear()
        elif self.key_has_been_seen.value() is None:
            self.key_has_been_seen.update(True)
            yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    events = [("a", "seen"), ("b", "seen"), ("a", "seen"), ("a", "forget"), ("a", "seen"), ("b", "seen")]
    env.from_collection(events).key_by(lambda event: event[0]).flat_map(Deduplicator()).print()

    env.execute("forget")


if __name__ == "__main__":
    main()

# Output:
# ('a', 'seen')
# ('b', 'seen')
# ('a', 'seen')
