"""Rules from one stream, applied to another: patterns of two colours that follow each other, per shape."""

from collections.abc import Iterator

from firesteel.common import Types
from firesteel.datastream import KeyedBroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor

Item = tuple[str, str]
"""Shape and colour."""
Rule = tuple[str, str, str]
"""Name, first colour, second colour."""

RULES = MapStateDescriptor("rules", Types.STRING(), Types.TUPLE([Types.STRING(), Types.STRING()]))


class MatchRules(KeyedBroadcastProcessFunction):
    """Remembers the last colour of each shape, and knows all rules."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))

    def process_element(self, value: Item, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
        shape, colour = value
        for name, colours in ctx.get_broadcast_state(RULES).items():
            if colours == (self.last.value(), colour):
                yield f"{name}: a {colour} {shape} after a {colours[0]} one"
        self.last.update(colour)

    def process_broadcast_element(self, value: Rule, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        name, first, second = value
        ctx.get_broadcast_state(RULES).put(name, (first, second))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    rules = env.from_elements(("R1", "red", "blue"), ("R2", "blue", "blue")).broadcast(RULES)
    items = env.from_elements(
        ("circle", "red"),
        ("square", "blue"),
        ("circle", "blue"),
        ("square", "blue"),
        ("circle", "blue"),
        ("square", "red"),
    )
    matches = items.key_by(lambda item: item[0]).connect(rules).process(MatchRules(), Types.STRING())
    matches.print().set_parallelism(1)

    env.execute("broadcast rules")


if __name__ == "__main__":
    main()

# Broadcast records of an epoch are in force before the other records of that epoch; here everything comes in one.
#
# Output, in any order:
# R1: a blue circle after a red one
# R2: a blue square after a blue one
# R2: a blue circle after a blue one
