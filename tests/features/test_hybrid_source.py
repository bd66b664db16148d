"""Historical then live data in one job: no gap, no overlap, one state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Encoder, WatermarkStrategy
from firesteel.datastream import ProcessFunction
from firesteel.datastream.connectors import (
    BucketAssigner,
    FileSink,
    FileSource,
    HybridSource,
    NumberSequenceSource,
    StreamFormat,
)
from firesteel.testing import InjectedFailure, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering
from tests.features.test_files import drop, folders, wait_until


class FailsOnce(ProcessFunction):
    def __init__(self, at: int, mark: Path) -> None:
        self.at, self.mark = at, mark

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value == self.at and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure(f"at {value}")
        yield value


def history(directory: Path, numbers: range, files: int) -> FileSource:
    directory.mkdir()
    for index in range(files):
        (directory / str(index)).write_text("".join(f"{number}\n" for number in numbers[index::files]))
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory)).build()


@pytest.mark.feature("BB-05")
@pytest.mark.parametrize("fails_at", [None, 10, 39, 40, 55], ids=str)
def test_state_goes_on_from_history_to_live_data(make_env: MakeEnv, tmp_path: Path, fails_at: int | None) -> None:
    env = recovering(make_env(2, {"firesteel.epoch.max-records": 4}))
    files = history(tmp_path / "history", range(40), 3)
    source = HybridSource.builder(files).add_source(NumberSequenceSource(40, 79)).build()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "hybrid").map(int)
    if fails_at is not None:
        numbers = numbers.process(FailsOnce(fails_at, tmp_path / "mark"))
    pairs = numbers.map(lambda number: (1, [number])).key_by(lambda _: "all")
    with use_clock(checkpoint_each_epoch()):
        results = collect(pairs.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1])))
    assert (tmp_path / "mark").exists() == (fails_at is not None)
    count, seen = results[-1]
    assert count == 80  # neither gap nor overlap
    assert sorted(seen) == list(range(80))
    assert set(seen[:40]) == set(range(40))  # all of the history came first
    assert [result[0] for result in results] == list(range(1, 81))


@pytest.mark.feature("BB-05")
@on_both
def test_files_of_the_past_then_those_that_come(make_env: MakeEnv, tmp_path: Path) -> None:
    env = recovering(make_env(2))
    incoming, out = tmp_path / "in", tmp_path / "out"
    incoming.mkdir()
    watched = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(incoming))
    live = watched.monitor_continuously(Duration.of_millis(20)).build()
    source = HybridSource.builder(history(tmp_path / "history", range(6), 3)).add_source(live).build()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "hybrid").map(int)
    numbers = numbers.process(FailsOnce(7, tmp_path / "mark"))
    totals = numbers.key_by(lambda _: "all").reduce(lambda a, b: a + b)
    sink = FileSink.for_row_format(str(out), Encoder.simple_string_encoder())
    totals.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    job = env.execute_async()
    try:
        wait_until(lambda: "15" in folders(out).get("", []))
        for number in (6, 7, 8):
            drop(incoming, str(number), str(number))
            total = str(sum(range(number + 1)))
            wait_until(lambda wanted=total: wanted in folders(out)[""])  # type: ignore[misc]
    finally:
        job.cancel().result()
    assert (tmp_path / "mark").exists()
    assert len(folders(out)[""]) == 9
