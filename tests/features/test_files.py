"""Files as source and sink in whole jobs: folders by time, watched directories, Parquet."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Encoder, Row, Types, WatermarkStrategy
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors import BucketAssigner, FileSink, FileSource, StreamFormat, StreamingFileSink
from firesteel.datastream.connectors.base import StreamTransformer
from firesteel.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, OutputFileConfig
from firesteel.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from firesteel.testing import CRASH, EPOCH_CUT, InjectedFailure, ManualClock, element, processing_time, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted
from tests.written_files import visible_files

HOUR = 3600 * 1000
JANUARY_1 = 1704067200000  # 2024-01-01T00:00:00Z


def folders(base: Path) -> dict[str, list[str]]:
    """The lines of all files that a reader sees, by folder."""
    found: dict[str, list[str]] = {}
    for path in visible_files(base):
        folder = "/".join(path.relative_to(base).parts[:-1])
        found.setdefault(folder, []).extend(path.read_text().splitlines())
    return {folder: sorted(lines) for folder, lines in sorted(found.items())}


def text_sink(base: Path, assigner: BucketAssigner) -> FileSink:
    return FileSink.for_row_format(str(base), Encoder.simple_string_encoder()).with_bucket_assigner(assigner).build()


@pytest.mark.feature("SS-11")
@on_both
def test_rows_land_in_folders_by_event_time(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env())
    script = [
        element("ten", JANUARY_1 + 10 * HOUR),
        element("eleven", JANUARY_1 + 11 * HOUR),
        EPOCH_CUT,
        element("ten again", JANUARY_1 + 10 * HOUR + 59_000),
        CRASH,
        element("next day", JANUARY_1 + 24 * HOUR),
    ]
    scripted(env, script).sink_to(text_sink(tmp_path, BucketAssigner.event_time_bucket_assigner(timezone_id="UTC")))
    env.execute()
    assert folders(tmp_path) == {
        "2024-01-01--10": ["ten", "ten again"],
        "2024-01-01--11": ["eleven"],
        "2024-01-02--00": ["next day"],
    }


@pytest.mark.feature("SS-11")
def test_rows_land_in_folders_by_processing_time(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    clock = ManualClock(JANUARY_1 + 10 * HOUR)
    script = ["ten", processing_time(JANUARY_1 + 11 * HOUR), "eleven"]
    stream = scripted(env, script, clock=clock)
    stream.sink_to(text_sink(tmp_path, BucketAssigner.date_time_bucket_assigner(timezone_id="UTC")))
    with use_clock(clock):
        env.execute()
    assert folders(tmp_path) == {"2024-01-01--10": ["ten"], "2024-01-01--11": ["eleven"]}


class FailsOnce(ProcessFunction):
    def __init__(self, at: Any, mark: Path) -> None:
        self.at, self.mark = at, mark

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value == self.at and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure(f"at {value}")
        yield value


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)


def drop(directory: Path, name: str, text: str) -> None:
    """Put a complete file into a directory."""
    (directory / f".{name}").write_text(text)
    (directory / f".{name}").rename(directory / name)


@pytest.mark.feature("SS-10")
@on_both
def test_files_dropped_one_by_one_are_each_read_once_also_across_a_restart(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(2))
    incoming, out = tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(incoming))
    watched = source.monitor_continuously(Duration.of_millis(20)).build()
    lines = env.from_source(watched, WatermarkStrategy.no_watermarks(), "files")
    lines = lines.process(FailsOnce("second 2", tmp_path / "mark"))
    lines.sink_to(text_sink(out, BucketAssigner.base_path_bucket_assigner()))
    job = env.execute_async()
    try:
        expected: list[str] = []
        for name in ("first", "second", "third"):
            rows = [f"{name} {number}" for number in range(4)]
            drop(incoming, name, "\n".join(rows))
            expected = sorted([*expected, *rows])
            wait_until(lambda wanted=expected: folders(out).get("", []) == wanted)  # type: ignore[misc]
    finally:
        job.cancel().result()
    assert (tmp_path / "mark").exists()
    assert folders(out) == {"": expected}


def test_parquet_out_and_in(make_env: MakeEnv, tmp_path: Path) -> None:
    row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    rows = [Row(id=number, name=f"n{number}") for number in range(20)]
    env = make_env(2)
    sink = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(row_type))
    env.from_collection(rows, row_type).rebalance().sink_to(
        sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    )
    env.execute()
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), str(tmp_path)).build()
    back = collect(make_env(2).from_source(source, WatermarkStrategy.no_watermarks(), "parquet"))
    assert sorted(back, key=lambda row: row.id) == rows


def test_small_files_are_joined(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    recovering(env)
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(100).build()
    sink = (
        FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .enable_compact(strategy, FileCompactor.concat_file_compactor())
        .build()
    )
    script: list[Any] = []
    for number in range(6):
        script += [number, CRASH if number == 3 else EPOCH_CUT]
    scripted(env, script).sink_to(sink)
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert folders(tmp_path) == {"": [str(number) for number in range(6)]}
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("compacted-")]) == 1
    assert not (tmp_path / ".inprogress").exists()


def test_one_sink_object_can_end_several_streams(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env())
    sink = text_sink(tmp_path, BucketAssigner.base_path_bucket_assigner())
    scripted(env, ["a", EPOCH_CUT, "b", CRASH, "c"]).sink_to(sink)
    scripted(env, ["x", EPOCH_CUT, "y", EPOCH_CUT, "z"]).sink_to(sink)
    env.execute()
    assert folders(tmp_path) == {"": ["a", "b", "c", "x", "y", "z"]}


def test_the_older_sink_is_added_like_a_function(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning):
        builder = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    env.from_collection(["a"]).add_sink(
        builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    )
    env.enable_checkpointing(1000)
    env.execute()
    assert folders(tmp_path) == {"": ["a"]}


def test_the_older_sink_finishes_no_file_without_checkpoints(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning):
        builder = StreamingFileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    named = OutputFileConfig.builder().with_part_prefix("prefix").with_part_suffix(".suffix").build()
    env.from_collection(["a", "b"]).add_sink(builder.with_output_file_config(named).build())
    env.execute()
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.read_text() for path in written] == ["a\nb\n"]
    assert re.fullmatch(r"\.prefix-.+\.suffix\.inprogress\.[-0-9a-f]{36}", written[0].name)
    assert written[0].parent != tmp_path  # in its bucket


class _Shouting(StreamTransformer):
    def apply(self, ds: Any) -> Any:
        return ds.map(str.upper)


def test_a_sink_may_prepare_its_stream(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    plain = text_sink(tmp_path, BucketAssigner.base_path_bucket_assigner())
    sink = FileSink(plain._settings, _Shouting())
    assert sink.get_transformer() is not None
    env.from_collection(["a"]).sink_to(sink)
    env.execute()
    assert folders(tmp_path) == {"": ["A"]}


def test_a_reader_never_sees_half_a_file(make_env: MakeEnv, tmp_path: Path) -> None:
    """A second thread looks all the time while a job writes: what it sees are whole files of whole lines."""
    env = recovering(make_env(2, {"firesteel.epoch.max-records": 500}))
    numbers = env.from_sequence(1, 20_000).map(lambda number: f"{number:08d}")
    numbers.sink_to(text_sink(tmp_path, BucketAssigner.base_path_bucket_assigner()))
    torn: list[str] = []
    sizes: dict[Path, int] = {}
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            for path in tmp_path.glob("part-*"):
                text = path.read_text()
                if sizes.setdefault(path, len(text)) != len(text) or len(text) % 9:
                    torn.append(path.name)

    reader = threading.Thread(target=look)
    reader.start()
    try:
        env.execute()
    finally:
        done.set()
        reader.join()
    assert torn == []
    assert len(folders(tmp_path)[""]) == 20_000
