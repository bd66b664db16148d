"""Watch a folder: the lines of each file that appears in it are written to an event log, once."""

import tempfile
import time
from pathlib import Path

from firesteel.common import Configuration, Duration, Encoder, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy, StreamFormat


def lines_of(log: Path) -> list[str]:
    """What is in the finished files of the log; those in work are hidden."""
    files = [path for path in log.rglob("*") if path.is_file() and not path.name.startswith((".", "_"))]
    return sorted(line for path in files for line in path.read_text().splitlines())


def put(folder: Path, name: str, text: str) -> None:
    """Write a file under a hidden name and rename it: the job never sees half a file."""
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def wait_for(log: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(lines_of(log)) < count and time.monotonic() < deadline:
        time.sleep(0.05)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder, log = Path(directory) / "in", Path(directory) / "log"
        folder.mkdir()
        put(folder, "one.txt", "first\nsecond\n")

        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        env.enable_checkpointing(100)  # files of the log are finished with each checkpoint

        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
        source = lines.monitor_continuously(Duration.of_millis(50)).build()
        sink = FileSink.for_row_format(str(log), Encoder.simple_string_encoder()).with_rolling_policy(
            RollingPolicy.on_checkpoint_rolling_policy()
        )
        env.from_source(source, WatermarkStrategy.no_watermarks(), "folder").sink_to(sink.build())
        job = env.execute_async("folder to event log")

        wait_for(log, 2)
        put(folder, "two.txt", "third\n")
        wait_for(log, 3)
        job.cancel().result()
        print(*lines_of(log), sep="\n")


if __name__ == "__main__":
    main()

# Output:
# first
# second
# third
