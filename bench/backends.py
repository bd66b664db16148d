"""Compares the state backends on the keyed running sum, operator and backend alone: ``python -m bench.backends``.

CPU time of the process, with RocksDB's threads in it; each line is a fresh backend. Snapshots are taken and pickled,
but not written anywhere.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.metrics import MetricGroup
from firesteel.model.functions.adapt import as_reduce_function
from firesteel.runtime.basic import ReduceOperator
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.operator import ChainLink, Clock, OperatorContext, Output
from firesteel.state import codec
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.operator_state import OperatorStateBackend
from firesteel.state.rocksdb import RocksDBBackend

BATCH = 4096
MB = 1 << 20


def batches(records: int, keys: int) -> list[RowBatch]:
    """Records with keys at random: the worst for any cache."""
    chosen = random.Random(1)
    return [
        RowBatch([1] * BATCH, None, [chosen.randrange(keys) for _ in range(BATCH)]) for _ in range(records // BATCH)
    ]


def running_sum(backend: KeyedStateBackend, given: list[RowBatch], batches_per_epoch: int) -> float:
    """Seconds of CPU time per record."""
    operator = ReduceOperator(as_reduce_function(lambda a, b: a + b, "running sum"))
    info = OperatorInfo("running sum", "running-sum", "-")
    operator.setup(
        OperatorContext(
            info, 0, 1, 128, 0, Clock(), Output(), MetricGroup(), OperatorStateBackend(), keyed_state=backend
        )
    )
    operator.open()
    link = ChainLink(operator)
    backend.forget_deltas()
    began = time.process_time()
    for number, batch in enumerate(given, 1):
        link.receive(batch)
        if batches_per_epoch and number % batches_per_epoch == 0:
            backend.end_epoch()
            codec.dumps(backend.take_deltas())
    return (time.process_time() - began) / (len(given) * BATCH)


BACKENDS: dict[str, Callable[[], KeyedStateBackend]] = {
    "hashmap": lambda: HashMapBackend(128),
    "rocksdb, 512 MB (the default)": lambda: RocksDBBackend(128),
    "rocksdb, 128 MB": lambda: RocksDBBackend(128, memory=128 * MB),
    "rocksdb, 32 MB": lambda: RocksDBBackend(128, memory=32 * MB),
}


def compare(records: int, keys: int, names: Iterable[str] = BACKENDS) -> list[dict[str, Any]]:
    """Measure and print; hashmap has to be named first: the others are compared with it."""
    given = batches(records, keys)
    measured = []
    for title, per_epoch in (("without snapshots", 0), ("a change per 400,000 records", 100)):
        print(f"{keys:,} keys, {title}")
        first = 0.0
        for name in names:
            backend = BACKENDS[name]()
            seconds = running_sum(backend, given, per_epoch)
            backend.close()
            first = first or seconds
            print(f"    {name:32} {1e6 * seconds:6.2f} us/record   {first / seconds:5.2f} of hashmap", flush=True)
            measured.append({"backend": name, "snapshots": title, "seconds": seconds, "ratio": first / seconds})
    return measured


def main() -> None:
    """Measure and print, by the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    options: Any = parser.parse_args()
    compare(options.records, options.keys)


if __name__ == "__main__":
    main()
