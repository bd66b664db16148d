"""Broadcast state: rules say which shape must follow which, per colour. New rules apply while the job runs."""

from collections.abc import Iterator

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import KeyedBroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor
from firesteel.testing import EPOCH_CUT, ScriptedSource, element

Item = tuple[str, str]
"""Colour and shape."""
Rule = tuple[str, str, str]
"""Name, first shape, second shape."""

RULES = MapStateDescriptor("RulesBroadcastState", Types.STRING(), Types.TUPLE([Types.STRING(), Types.STRING()]))


class MatchShapes(KeyedBroadcastProcessFunction):
    """Per rule, the items of this colour that wait for a partner."""

    def open(self, runtime_context: RuntimeContext) -> None:
        items = MapStateDescriptor("items", Types.STRING(), Types.LIST(Types.STRING()))
        self.partial_matches = runtime_context.get_map_state(items)

    def process_element(self, value: Item, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
        colour, shape = value
        for name, (first, second) in ctx.get_broadcast_state(RULES).items():
            waiting = self.partial_matches.get(name) or []
            if shape == second and waiting:
                for partner in waiting:
                    yield f"MATCH: {colour} {partner} - {colour} {shape}"
                waiting = []
            if shape == first:
                waiting = [*waiting, shape]
            if waiting:
                self.partial_matches.put(name, waiting)
            else:
                self.partial_matches.remove(name)

    def process_broadcast_element(self, value: Rule, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        name, first, second = value
        ctx.get_broadcast_state(RULES).put(name, (first, second))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    # The scripts make the example repeatable: the second rule comes with the second part of the items.
    items = [("red", "rectangle"), ("blue", "rectangle"), ("green", "triangle"), ("red", "triangle")]
    later_items = [("blue", "triangle"), ("blue", "circle")]
    item_script = [*map(element, items), EPOCH_CUT, *map(element, later_items)]
    rule_script = [element(("rule", "rectangle", "triangle")), EPOCH_CUT, element(("rule", "rectangle", "circle"))]

    no_watermarks = WatermarkStrategy.no_watermarks()
    rules = env.from_source(ScriptedSource(rule_script), no_watermarks, "rules").broadcast(RULES)
    shapes = env.from_source(ScriptedSource(item_script), no_watermarks, "items").key_by(lambda item: item[0])
    shapes.connect(rules).process(MatchShapes()).print()

    env.execute("shapes and rules")


if __name__ == "__main__":
    main()

# Output:
# MATCH: red rectangle - red triangle
# MATCH: blue rectangle - blue circle
