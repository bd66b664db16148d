"""Two streams together: co-map, and a keyed co-process function that joins them in state."""

import pyflink.datastream.functions as functions
from pyflink.common.typeinfo import Types
from pyflink.datastream import CoMapFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Label(CoMapFunction):
    def map1(self, value):
        return f"order {value[0]}"

    def map2(self, value):
        return f"payment {value[0]}"


class Match(functions.KeyedCoProcessFunction):
    def open(self, runtime_context: functions.RuntimeContext):
        self.order = runtime_context.get_state(ValueStateDescriptor("order", Types.STRING()))
        self.payment = runtime_context.get_state(ValueStateDescriptor("payment", Types.DOUBLE()))

    def process_element1(self, value, ctx: "functions.KeyedCoProcessFunction.Context"):
        paid = self.payment.value()
        if paid is None:
            self.order.update(value[1])
        else:
            self.payment.clear()
            yield ctx.get_current_key(), value[1], paid

    def process_element2(self, value, ctx: "functions.KeyedCoProcessFunction.Context"):
        what = self.order.value()
        if what is None:
            self.payment.update(value[1])
        else:
            self.order.clear()
            yield ctx.get_current_key(), what, value[1]


def demo():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    orders = env.from_collection([(1, "book"), (2, "pen"), (3, "ink")], Types.TUPLE([Types.INT(), Types.STRING()]))
    payments = env.from_collection([(3, 7.5), (1, 20.0)], Types.TUPLE([Types.INT(), Types.DOUBLE()]))

    matched = (
        orders.connect(payments)
        .key_by(lambda order: order[0], lambda payment: payment[0])
        .process(Match(), output_type=Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]))
    )
    matched.print().set_parallelism(1)
    orders.connect(payments).map(Label(), output_type=Types.STRING()).print().set_parallelism(1)
    env.execute()


if __name__ == "__main__":
    demo()

# Output, in any order:
# (1,book,20.0)
# (3,ink,7.5)
# order 1
# order 2
# order 3
# payment 1
# payment 3
