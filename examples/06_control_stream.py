"""Steer one stream by another: words that the control stream names are dropped from the data stream."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.datastream import CoFlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor


class Control(CoFlatMapFunction):
    """Both inputs share the state of a key, because both are keyed by the word."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.blocked = runtime_context.get_state(ValueStateDescriptor("blocked", Types.BOOLEAN()))

    def flat_map1(self, value: str) -> None:
        self.blocked.update(True)

    def flat_map2(self, value: str) -> Iterator[str]:
        if not self.blocked.value():
            yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    control = env.from_elements("DROP", "IGNORE").key_by(lambda word: word)
    data = env.from_elements("Apache", "DROP", "Flink", "IGNORE").key_by(lambda word: word)
    control.connect(data).flat_map(Control()).print().set_parallelism(1)

    env.execute("control stream")


if __name__ == "__main__":
    main()

# In general nothing says which of two connected streams is read first, and a program must not rely on it. Here all
# records arrive in one epoch, in which the first input is read before the second.
#
# Output, in any order:
# Apache
# Flink
