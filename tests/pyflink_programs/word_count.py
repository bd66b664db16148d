"""Counting words, with arguments, as the first program of every tutorial."""

import argparse
import logging
import sys

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

LINES = ["to be or not to be", "that is the question", "whether tis nobler in the mind"]


def word_count(lines):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)

    ds = env.from_collection(lines, type_info=Types.STRING())

    def split(line):
        yield from line.split()

    ds = (
        ds.flat_map(split)
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )
    ds.print()
    env.execute("word count")


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", dest="limit", type=int, default=2, help="How many lines to count.")
    known_args, _ = parser.parse_known_args(sys.argv[1:])
    word_count(LINES[: known_args.limit])

# Output, in any order:
# (be,2)
# (is,1)
# (not,1)
# (or,1)
# (question,1)
# (that,1)
# (the,1)
# (to,2)
