"""Watch a directory: count the orders in files that are dropped into it while the job runs.

Each file is read once, also if the job is stopped and started again.
"""

import tempfile
from pathlib import Path

from firesteel.common import Duration, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSource, StreamFormat

DELIVERIES = {"monday.txt": "tea\ncoffee\ntea\n", "tuesday.txt": "tea\n", "wednesday.txt": "coffee\n"}


def drop(directory: Path, name: str) -> None:
    """Put a file into the directory at one stroke: names that begin with a dot are not looked at."""
    hidden = directory / f".{name}"
    hidden.write_text(DELIVERIES[name])
    hidden.rename(directory / name)


def main(directory: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory))
        .monitor_continuously(Duration.of_millis(100))
        .build()
    )
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    counts = orders.map(lambda item: (item, 1)).key_by(lambda pair: pair[0]).sum(1)

    # The job does not end by itself: leaving the block cancels it.
    with counts.execute_and_collect("orders") as results:
        for name, content in DELIVERIES.items():
            drop(directory, name)
            found = sorted(next(results) for _ in content.splitlines())
            print(f"after {name}: {found}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))

# Output:
# after monday.txt: [('coffee', 1), ('tea', 1), ('tea', 2)]
# after tuesday.txt: [('tea', 3)]
# after wednesday.txt: [('coffee', 2)]
