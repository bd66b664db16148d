"""Columns against rows: Parquet files, a filter, a projection and totals of 10,000 keys, on Spark and in one process.

The same program with operators on columns, with functions on rows, and as a loop over Arrow batches without any engine
(which is as quick as it can be on one core). On Spark in turns in one run, so that whatever disturbs the machine
disturbs all; in one process by processor time, which a busy machine disturbs little.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.machine import sentence
from bench.measure import Bench
from bench.page import PERFORMANCE, replace_section, table
from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.connectors.discarding import DiscardingSink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource
from firesteel.datastream.formats.parquet import ParquetColumnarRowInputFormat
from firesteel.runtime.columns import AggregateColumns, FilterColumns, MapColumns, Total

KEYS = 10_000
FILES = 4
ROW_GROUP = 200_000
ROW_TYPE = Types.ROW_NAMED(["k", "v", "t"], [Types.STRING(), Types.LONG(), Types.LONG()])
Build = Callable[[StreamExecutionEnvironment], None]


def measure(bench: Bench, scale: float, repetitions: int) -> dict[str, Any]:
    """Records per second on Spark and nanoseconds per record in one process, each way."""
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as folder:
        records = write_files(folder, int(8e6 * scale))
        ways = {"columns": partial(by_columns, folder), "rows": partial(by_rows, folder)}
        rates = {way: [] for way in ways}
        for _ in range(repetitions):
            for way, build in ways.items():
                rates[way].append(bench.run(build, records, 0.3).records_per_second)
        nanoseconds = {way: _in_one_process(build, records, repetitions) for way, build in ways.items()}
        nanoseconds["loop"] = min(_processor_time(partial(loop, folder)) / records for _ in range(repetitions)) * 1e9
    found = {
        "records": records,
        "records_per_second": {way: statistics.median(each) for way, each in rates.items()},
        "nanoseconds": nanoseconds,
    }
    print("\ntotals of 10,000 keys over Parquet files: ", end="")
    print(", ".join(f"{way} {rate:,.0f} records/s" for way, rate in found["records_per_second"].items()))
    print("in one process: ", ", ".join(f"{way} {each:.0f} ns" for way, each in nanoseconds.items()), flush=True)
    return {"columns": found}


def write_files(folder: str, records: int) -> int:
    """Files of so many records together."""
    each = records // FILES
    for file in range(FILES):
        numbers = pa.array(range(file * each, (file + 1) * each), pa.int64())
        keys = pa.array([f"key-{number * 7919 % KEYS:07d}" for number in range(each)])
        values = pa.array([number * 31 % 1000 for number in range(each)], pa.int64())
        content = pa.table({"k": keys, "v": values, "t": numbers})
        pq.write_table(content, f"{folder}/{file}.parquet", row_group_size=ROW_GROUP)
    return each * FILES


def _source(env: StreamExecutionEnvironment, folder: str) -> Any:
    source = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW_TYPE), folder).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "files", ROW_TYPE)


def _keep(batch: Any) -> Any:
    return pc.greater(batch["v"], 100)


def _project(batch: Any) -> Any:
    return pa.record_batch([batch["k"], pc.add(pc.multiply(batch["v"], 2), 1)], names=["k", "v"])


def by_columns(folder: str, env: StreamExecutionEnvironment) -> None:
    """With operators on columns."""
    kept = _source(env, folder).transform("Filter", None, partial(FilterColumns, _keep))
    projected = kept.transform("Project", None, partial(MapColumns, _project))
    totals = partial(AggregateColumns, [Total.sum("v"), Total.count()])
    projected.key_by("k").transform("Totals", None, totals).sink_to(DiscardingSink())


def by_rows(folder: str, env: StreamExecutionEnvironment) -> None:
    """With functions on rows."""
    kept = _source(env, folder).filter(lambda row: row.v > 100).map(lambda row: (row.k, row.v * 2 + 1, 1))
    totals = kept.key_by(0).reduce(lambda one, other: (one[0], one[1] + other[1], one[2] + other[2]))
    totals.sink_to(DiscardingSink())


def loop(folder: str) -> int:
    """Without an engine: Arrow's own grouping of batches of 200,000, and a dict."""
    state: dict[str, tuple[int, int]] = {}
    for file in range(FILES):
        for batch in pq.ParquetFile(f"{folder}/{file}.parquet").iter_batches(ROW_GROUP):
            part = pa.Table.from_batches([_project(batch.filter(_keep(batch)))])
            grouped = part.group_by("k", use_threads=False).aggregate([("v", "sum"), ("v", "count")])
            for key, total, count in zip(*(column.to_pylist() for column in grouped.columns)):
                before = state.get(key, (0, 0))
                state[key] = (before[0] + total, before[1] + count)
    return len(state)


def _in_one_process(build: Build, records: int, repetitions: int) -> float:
    def job() -> None:
        options = Configuration.from_dict({"execution.target": "in-process"})
        env = StreamExecutionEnvironment.get_execution_environment(options)
        env.set_parallelism(2)
        build(env)
        env.execute()

    return min(_processor_time(job) for _ in range(repetitions)) / records * 1e9


def _processor_time(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def write_page(report: dict[str, Any]) -> None:
    """Section "columns" of the performance page."""
    found = report["columns"]
    rates, nanoseconds = found["records_per_second"], found["nanoseconds"]
    rows = [
        ("with columns, on Spark", f"{rates['columns']:,.0f} records/s"),
        ("with rows, on Spark", f"{rates['rows']:,.0f} records/s"),
        ("the one to the other", f"{rates['columns'] / rates['rows']:.1f}"),
        ("with columns, processor time in one process", f"{nanoseconds['columns']:.0f} ns per record"),
        ("with rows, the same", f"{nanoseconds['rows']:.0f} ns per record"),
        ("a loop over Arrow batches, without an engine", f"{nanoseconds['loop']:.0f} ns per record"),
    ]
    figures = table(["what", "measured"], rows)
    replace_section(PERFORMANCE, "columns", f"{sentence(report['machine'])}\n\n{figures}")
