"""Rules that all subtasks get, in broadcast state."""

from pyflink.common import Types
from pyflink.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor, ValueStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Above(BroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.waiting = []

    def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext):
        limit = ctx.get_broadcast_state(RULES).get("limit")
        if limit is None:
            self.waiting.append(value)
        elif value > limit:
            yield f"{value} is above {limit}"

    def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        for number in self.waiting:
            if number > value[1]:
                yield f"{number} is above {value[1]}"
        self.waiting.clear()


class Second(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 2:
            yield f"{value} is the second {ctx.get_current_key()} number"

    def process_broadcast_element(self, value, ctx: KeyedBroadcastProcessFunction.Context):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield f"{value[0]} is {ctx.get_broadcast_state(RULES).get(value[0])}"


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    rules = env.from_collection([("limit", 3)], Types.TUPLE([Types.STRING(), Types.INT()])).broadcast(RULES)
    numbers = env.from_collection([1, 5, 4, 2], Types.INT())
    numbers.connect(rules).process(Above(), Types.STRING()).print()
    parity = numbers.key_by(lambda n: "odd" if n % 2 else "even", Types.STRING())
    parity.connect(rules).process(Second(), Types.STRING()).print()
    env.execute("broadcast")

# Output, in any order:
# 5 is above 3
# 4 is above 3
# limit is 3
# 5 is the second odd number
# 2 is the second even number
