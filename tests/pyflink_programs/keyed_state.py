"""Value state with a time to live, list state and map state, in rich functions."""

from pyflink.common import Time, Types
from pyflink.datastream import FlatMapFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class CountWindowAverage(FlatMapFunction):
    def __init__(self):
        self.sum = None

    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("average", Types.TUPLE([Types.LONG(), Types.LONG()]))
        ttl = (
            StateTtlConfig.new_builder(Time.hours(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        descriptor.enable_time_to_live(ttl)
        self.sum = runtime_context.get_state(descriptor)

    def flat_map(self, value):
        current = self.sum.value()
        if current is None:
            current = (0, 0)
        current = (current[0] + 1, current[1] + value[1])
        self.sum.update(current)
        if current[0] >= 2:
            self.sum.clear()
            yield value[0], current[1] // current[0]


class Remember(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.STRING(), Types.INT()))

    def map(self, value):
        self.seen.add(value[1])
        parity = "even" if value[1] % 2 == 0 else "odd"
        self.counts.put(parity, (self.counts.get(parity) or 0) + 1)
        return f"{value[0]}: {list(self.seen)} {dict(self.counts.items())}"


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    pairs = env.from_collection(
        [(1, 3), (1, 5), (1, 7), (1, 4), (1, 2), (2, 8)], type_info=Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    keyed = pairs.key_by(lambda pair: pair[0])
    keyed.flat_map(CountWindowAverage(), output_type=Types.TUPLE([Types.LONG(), Types.LONG()])).print()
    keyed.map(Remember(), output_type=Types.STRING()).print()
    env.execute("keyed state")

# Output, in any order:
# (1,4)
# (1,5)
# 1: [3] {'odd': 1}
# 1: [3, 5] {'odd': 2}
# 1: [3, 5, 7] {'odd': 3}
# 1: [3, 5, 7, 4] {'odd': 3, 'even': 1}
# 1: [3, 5, 7, 4, 2] {'odd': 3, 'even': 2}
# 2: [8] {'even': 1}
