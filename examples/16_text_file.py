"""Read a text file, or all files of a directory: one record per line."""

import tempfile
from pathlib import Path

from firesteel.datastream import StreamExecutionEnvironment

LINES = ["2020-01-01 INFO started", "2020-01-01 WARN low on memory", "2020-01-02 INFO stopped", "2020-01-02 WARN bye"]


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "app.log"
        path.write_text("\n".join(LINES))

        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)

        lines = env.read_text_file(path.as_uri())  # file:///...; a plain path will do as well
        lines.filter(lambda line: " WARN " in line).map(str.upper).print()

        env.execute("text file")


if __name__ == "__main__":
    main()

# Output:
# 2020-01-01 WARN LOW ON MEMORY
# 2020-01-02 WARN BYE
