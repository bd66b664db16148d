"""Both exchanges in the same run: latency through two levels, throughput of a keyed running sum, the start of a job.

Latency is measured where records arrive, in the slots: a record's clock starts when it is *due* by the rate, and stops
in a function behind ``key_by``. The job checkpoints every second. What the driver adds as a sink is not in it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from typing import Any

from bench.latency import DueSource
from bench.machine import sentence
from bench.measure import Bench
from bench.page import PERFORMANCE, replace_section, table
from firesteel.common import Configuration, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.model.functions import MapFunction, RuntimeContext

EXCHANGES = ("shuffle", "direct")
RATES = (10_000, 100_000)


@dataclass(frozen=True)
class Measured:
    """What one exchange does."""

    exchange: str
    rate: int
    p50_ms: float
    p99_ms: float
    records: int


class Arrivals(MapFunction):
    """Notes how late each sampled record is, and writes that to a file when the job ends."""

    def __init__(self, folder: str, skip: float, stride: int) -> None:
        self._folder, self._skip, self._stride = folder, skip, stride

    def open(self, runtime_context: RuntimeContext) -> None:
        """Begin."""
        self._name = f"{self._folder}/{runtime_context.get_index_of_this_subtask()}-{os.getpid()}"
        self._late: list[float] = []
        self._first: float | None = None

    def map(self, value: tuple[int, float]) -> tuple[int, float]:
        """Look at the clock."""
        number, due = value
        if number % self._stride == 0:
            if self._first is None:
                self._first = due
            if due - self._first >= self._skip:
                self._late.append(time.time() - due)
        return value

    def close(self) -> None:
        """Write what was noted."""
        with open(self._name, "w", encoding="ascii") as file:
            json.dump(self._late, file)


def latency(session: Any, exchange: str, rate: int, seconds: float, skip: float = 3.0) -> Measured:
    """Latency of one exchange at one rate."""
    with tempfile.TemporaryDirectory() as folder:
        arrivals, checkpoints = os.path.join(folder, "arrivals"), os.path.join(folder, "checkpoints")
        os.mkdir(arrivals)
        env = environment(session, exchange, {"execution.checkpointing.dir": checkpoints})
        env.enable_checkpointing(1000)
        source = DueSource(rate, int(rate * (skip + seconds)))
        records = env.from_source(source, WatermarkStrategy.no_watermarks(), "due records")
        stride = max(rate // 2000, 1) | 1
        moved = records.key_by(lambda record: record[0] % 1000).map(Arrivals(arrivals, skip, stride))
        moved.filter(lambda _: False).print()
        env.execute("latency")
        late = sorted(each for name in os.listdir(arrivals) for each in _read(os.path.join(arrivals, name)))
    p50, p99 = (late[int(len(late) * share)] * 1000 for share in (0.5, 0.99))
    return Measured(exchange, rate, p50, p99, len(late))


def _read(path: str) -> list[float]:
    with open(path, encoding="ascii") as file:
        late: list[float] = json.load(file)
    return late


def environment(session: Any, exchange: str, options: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    """Two subtasks, with an exchange."""
    configuration = Configuration.from_dict({"firesteel.exchange": exchange, **(options or {})})
    return StreamExecutionEnvironment.get_execution_environment(configuration, spark=session).set_parallelism(2)


def keyed_sum(session: Any, exchange: str, records: int) -> float:
    """Records per second of a keyed running sum, the job's start and end left out by the difference of two sizes."""

    def run(count: int) -> float:
        env = environment(session, exchange)
        started = time.perf_counter()
        pairs = env.from_sequence(1, count).map(lambda number: (number % 10_000, number))
        sums = pairs.key_by(lambda pair: pair[0]).reduce(lambda left, right: (left[0], left[1] + right[1]))
        sums.filter(lambda _: False).print()
        env.execute("keyed sum")
        return time.perf_counter() - started

    small = records // 10
    return (records - small) / max(run(records) - run(small), 1e-9)


def start(session: Any, exchange: str) -> float:
    """Seconds of a job with one record."""
    env = environment(session, exchange)
    started = time.perf_counter()
    with env.from_elements(1).key_by(lambda one: one).map(lambda one: one).execute_and_collect() as collected:
        list(collected)
    return time.perf_counter() - started


def measure(bench: Bench, scale: float, repetitions: int) -> dict[str, Any]:
    """Both exchanges, in turns."""
    session = bench.session
    starts: dict[str, list[float]] = {exchange: [] for exchange in EXCHANGES}
    sums: dict[str, list[float]] = {exchange: [] for exchange in EXCHANGES}
    for _ in range(repetitions):
        for exchange in EXCHANGES:
            starts[exchange].append(start(session, exchange))
            sums[exchange].append(keyed_sum(session, exchange, int(8e6 * scale)))
    latencies = [latency(session, exchange, rate, 10 * scale) for rate in RATES for exchange in EXCHANGES]
    for each in latencies:
        print(
            f"{each.exchange} at {each.rate:,} records/s: p50 {each.p50_ms:.1f} ms, p99 {each.p99_ms:.1f} ms",
            flush=True,
        )
    found: dict[str, Any] = {
        "start_seconds": {exchange: min(times) for exchange, times in starts.items()},
        "records_per_second": {exchange: max(rates) for exchange, rates in sums.items()},
        "latencies": [asdict(each) for each in latencies],
    }
    for exchange in EXCHANGES:
        rate, began = found["records_per_second"][exchange], found["start_seconds"][exchange]
        print(f"{exchange}: keyed running sum {rate:,.0f} records/s, a job with one record {began:.2f} s", flush=True)
    return {"exchanges": found}


def write_page(report: dict[str, Any]) -> None:
    """Section "exchanges" of the performance page."""
    found = report["exchanges"]
    rows = [
        (f"{each['exchange']}, {each['rate']:,} records/s", f"{each['p50_ms']:.1f} ms", f"{each['p99_ms']:.1f} ms")
        for each in found["latencies"]
    ]
    others = [
        (exchange, f"{found['records_per_second'][exchange]:,.0f}", f"{found['start_seconds'][exchange]:.2f} s")
        for exchange in EXCHANGES
    ]
    figures = table(["latency through two levels", "median", "99th percentile"], rows)
    more = table(["exchange", "keyed running sum, records/s", "a job with one record"], others)
    replace_section(PERFORMANCE, "exchanges", f"{sentence(report['machine'])}\n\n{figures}\n\n{more}")
