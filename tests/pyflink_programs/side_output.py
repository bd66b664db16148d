"""One stream becomes three: by side outputs."""

from pyflink.common import Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

NEGATIVE = OutputTag("negative", Types.INT())
REJECTED = OutputTag("rejected", Types.STRING())


class Sort(ProcessFunction):
    def process_element(self, value, ctx: "ProcessFunction.Context"):
        try:
            number = int(value)
        except ValueError:
            yield REJECTED, f"rejected: {value}"
            return
        if number < 0:
            yield NEGATIVE, number
        else:
            yield number


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.add_jars("file:///opt/connectors/some-connector.jar")

numbers = env.from_collection(["1", "-2", "three", "4"], Types.STRING()).process(Sort(), output_type=Types.INT())
negative = numbers.get_side_output(NEGATIVE).map(lambda n: -n, output_type=Types.INT())
rejected = numbers.get_side_output(REJECTED)

union = numbers.union(negative).map(lambda n: f"number: {n}", output_type=Types.STRING()).union(rejected)
with union.execute_and_collect("side outputs") as results:
    for line in sorted(results):
        print(line)

# Output:
# number: 1
# number: 2
# number: 4
# rejected: three
