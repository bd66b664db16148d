"""Imports in places: of a module beside the program, and inside functions that run in workers."""

import pyflink.common
from parsing import Parse, to_row
from pyflink.datastream import StreamExecutionEnvironment


def with_version(row):
    from pyflink.common import Row
    from pyflink.datastream.functions import MapFunction

    return Row(row[0], row[1] + (1 if issubclass(Parse, MapFunction) else 0))


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    (
        env.from_collection(["a=1", "b=2"])
        .map(Parse())
        .map(to_row)
        .map(with_version)
        .filter(lambda row: isinstance(row, pyflink.common.Row))
        .print()
        .set_parallelism(1)
    )
    env.execute("lookups")


if __name__ == "__main__":
    main()

# Output, in any order:
# <Row('a', 2)>
# <Row('b', 3)>
