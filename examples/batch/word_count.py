"""Count the words of a text, once and for all: a DataSet is bounded, so there is one result per word."""

from firesteel.dataset import ExecutionEnvironment

TEXT = """\
To be, or not to be, that is the question:
Whether tis nobler in the mind to suffer
The slings and arrows of outrageous fortune"""


def main() -> None:
    env = ExecutionEnvironment.get_execution_environment()
    lines = env.from_collection(TEXT.splitlines())
    words = lines.flat_map(lambda line: line.lower().replace(",", "").replace(":", "").split())
    counts = words.map(lambda word: (word, 1)).group_by(0).sum(1)
    counts.filter(lambda pair: pair[1] > 1).print()


if __name__ == "__main__":
    main()

# Output, in any order:
# ('be', 2)
# ('the', 3)
# ('to', 3)
