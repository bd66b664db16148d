"""Write sensor readings to CSV files, in a folder for each hour of their timestamps.

Readers of the folders see whole files only, and each reading once, whatever happens to the job.
"""

import tempfile
from pathlib import Path

from firesteel.common import WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import BucketAssigner, FileSink, OutputFileConfig
from firesteel.datastream.connectors.file_system import CsvEncoder

TEN_O_CLOCK = 1704103200000  # 2024-01-01T10:00:00Z
READINGS = [
    ("kitchen", 21.5, TEN_O_CLOCK),
    ("cellar", 12.0, TEN_O_CLOCK + 20 * 60_000),
    ("kitchen", 22.0, TEN_O_CLOCK + 70 * 60_000),
    ("cellar", 12.1, TEN_O_CLOCK + 59 * 60_000),  # late, but it finds its folder
]


def main(directory: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda reading, _: reading[2])
    readings = env.from_collection(READINGS).assign_timestamps_and_watermarks(strategy)
    sink = (
        FileSink.for_row_format(str(directory), CsvEncoder())
        .with_bucket_assigner(BucketAssigner.event_time_bucket_assigner("yyyy-MM-dd--HH", "UTC"))
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".csv").build())
        .build()
    )
    readings.sink_to(sink).set_parallelism(1)

    env.execute("readings to files")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
        for file in sorted(Path(name).glob("*/part-*.csv")):
            print(f"{file.parent.name}:")
            print(file.read_text(), end="")

# Output:
# 2024-01-01--10:
# kitchen,21.5,1704103200000
# cellar,12.0,1704104400000
# cellar,12.1,1704106740000
# 2024-01-01--11:
# kitchen,22.0,1704107400000
