"""Count words: the count so far of each word, every time it comes up."""

from firesteel.datastream import StreamExecutionEnvironment

TEXT = """\
To be, or not to be, that is the question:
Whether tis nobler in the mind to suffer
The slings and arrows of outrageous fortune"""


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)

    lines = env.from_collection(TEXT.splitlines())
    words = lines.flat_map(lambda line: line.lower().replace(",", "").replace(":", "").split())
    counts = words.map(lambda word: (word, 1)).key_by(0).sum(1)
    # Two subtasks count, each its own words. One prints, so that the lines carry no subtask number.
    counts.filter(lambda pair: pair[1] > 1).print().set_parallelism(1)

    env.execute("word count")


if __name__ == "__main__":
    main()

# Output, in any order:
# ('be', 2)
# ('the', 2)
# ('the', 3)
# ('to', 2)
# ('to', 3)
