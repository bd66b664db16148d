"""Finds regressions in under two minutes: ``make bench-quick`` measures a handful of ratios, several times each, and
compares them with the recorded ones. Exit code 1 if something got worse by more than noise.

Only ratios are compared, never times: both sides of a ratio are measured in turns on the same machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench import baselines, programs, stages
from bench.checkpoints import every_epoch
from bench.compare import ELSEWHERE, TOLERANCE, Comparison, Ratio, Verdict, compare
from bench.machine import machine
from bench.measure import Bench, Build

RECORD = Path(__file__).parent / "recorded.json"
SECONDS = 95.0
"""No round is begun that would end later than this after the start."""
FEWEST, MOST = 3, 8
"""Rounds that count. The first one does not: the JVM compiles itself."""
SAME_MACHINE = ("cpu", "cores", "python", "pyspark")
"""What makes a kind of machine. Ratios do not depend on its pace, but on what its processor is good at."""
EPOCHS = 5
"""How many a job has besides the first ones, which are small. They are large: what an epoch costs without records is a
ratio of its own."""

BUSY = 0.5
"""Load of a machine on which others are at work."""

Round = dict[str, float]
_CHECKPOINTED = "running sum: with checkpoints to without"
HIGHER_IS_BETTER = {"running sum to its loop", "stateless to its loop", "tumbling window to its loop", _CHECKPOINTED}


def measure_round(bench: Bench) -> Round:
    """Each ratio once."""
    started = time.perf_counter()
    rates: dict[str, tuple[Callable[..., None], Callable[..., Any], int]] = {
        "running sum": (
            partial(programs.running_sum, keys=10_000),
            partial(baselines.running_sum, keys=10_000),
            3_000_000,
        ),
        "stateless": (programs.stateless, baselines.stateless, 8_000_000),
        "tumbling window": (
            partial(programs.tumbling_windows, keys=1000),
            partial(baselines.tumbling_windows, keys=1000),
            2_000_000,
        ),
    }
    ratios: Round = {}
    for name, (program, loop, records) in rates.items():
        nanoseconds = baselines.nanoseconds_of(loop, records)
        run = partial(_rate, bench, partial(program, records=records), records)
        rate = run({})
        ratios[f"{name} to its loop"] = rate * nanoseconds / 1e9
        if name == "running sum":
            ratios[_CHECKPOINTED] = every_epoch(run) / rate
    bare, empty = bench.bare_jobs(8), bench.empty_epochs(1.5)
    ratios["empty epoch to a bare Spark job"] = statistics.median(empty) / statistics.median(bare)
    print(f"    {time.perf_counter() - started:.0f} s", end="", flush=True)
    return {**ratios, **_steps()}


def _rate(bench: Bench, build: Build, records: int, options: dict[str, Any]) -> float:
    epochs = {"firesteel.epoch.max-records": records // EPOCHS // bench.parallelism}
    return bench.run(build, records, 0.3, {**epochs, **options}).records_per_second


def _steps() -> Round:
    """Steps of the keyed running sum in one process, each to the loop as a whole."""
    loop = baselines.quickest(baselines.running_sum, keys=10_000)
    steps = stages.nanoseconds_per_record(200_000)
    return {f"step {step}": nanoseconds / loop for step, nanoseconds in steps.items()}


def measure(bench: Bench, seconds: float) -> dict[str, Ratio]:
    """Rounds until the time is over."""
    started = time.perf_counter()
    print("rounds:", end="", flush=True)
    measure_round(bench)
    rounds: list[Round] = []
    while more_rounds(len(rounds), time.perf_counter() - started, seconds):
        rounds.append(measure_round(bench))
    print()
    return {name: Ratio.of([each[name] for each in rounds], name in HIGHER_IS_BETTER) for name in rounds[0]}


def more_rounds(done: int, elapsed: float, seconds: float) -> bool:
    """Whether there is time for another round; ``elapsed`` has one more in it than are done."""
    return done < FEWEST or (done < MOST and elapsed * (done + 2) / (done + 1) <= seconds)


def report(compared: list[Comparison], say: Callable[[str], None]) -> int:
    """Say what moved.

    :returns: The exit code.
    """
    width = max(len(each.name) for each in compared)
    say(f"{'ratio':{width}} {'recorded':>8} {'now':>8} {'moved':>6}")
    for each in compared:
        say(each.line(width))
    by_verdict = {verdict: [each.name for each in compared if each.verdict is verdict] for verdict in Verdict}
    if by_verdict[Verdict.BETTER]:
        say(f"better: {', '.join(by_verdict[Verdict.BETTER])}. Keep it: make bench-quick ARGS=--record")
    if by_verdict[Verdict.WORSE]:
        say(f"worse: {', '.join(by_verdict[Verdict.WORSE])}")
        return 1
    say("nothing got worse")
    return 0


@dataclass(frozen=True)
class Record:
    """What was measured once, and where."""

    machine: dict[str, Any]
    ratios: dict[str, Ratio]

    def differences(self, machine: dict[str, Any]) -> list[str]:
        """What is of another kind on a machine; nothing if ratios can be compared closely."""
        of_here = [(name, self.machine[name], machine[name]) for name in SAME_MACHINE]
        return [f"{name} {recorded}, now {now}" for name, recorded, now in of_here if recorded != now]


def load(file: Path) -> list[Record]:
    """All records, the last one first: one per kind of machine."""
    if not file.exists():
        return []
    stored = json.loads(file.read_text(encoding="utf-8"))
    return [
        Record(each["machine"], {name: Ratio(**fields) for name, fields in each["ratios"].items()}) for each in stored
    ]


def store(file: Path, new: Record) -> None:
    """Keep a record for later comparisons, instead of the one of the same kind of machine."""
    kept = [new, *(record for record in load(file) if record.differences(new.machine))]
    written = [{"machine": record.machine, "ratios": _rounded(record.ratios)} for record in kept]
    file.write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def _rounded(ratios: dict[str, Ratio]) -> dict[str, Any]:
    return {
        name: {**asdict(each), "median": round(each.median, 4), "spread": round(each.spread, 4)}
        for name, each in ratios.items()
    }


def nearest(records: list[Record], machine: dict[str, Any]) -> Record:
    """The record of the same kind of machine, or the last one; an empty one if there is none at all."""
    alike = [record for record in records if not record.differences(machine)]
    return next(iter([*alike, *records]), Record(machine, {}))


def caveats(record: Record, now: dict[str, Any]) -> list[str]:
    """Why the comparison may mislead: other machines, other versions, others at work."""
    other = record.differences(now)
    said = []
    if other:
        said.append(f"recorded elsewhere ({'; '.join(other)}): only what moved by more than {ELSEWHERE:.0%} counts")
        said.append("to compare closely, record what is there before your change: make bench-quick ARGS=--record")
    for when, busy in (("when the ratios were recorded", record.machine["load"]), ("now", now["load"])):
        if busy > BUSY:
            said.append(f"the machine was busy {when} (load {busy}): a job suffers more from that than a loop")
    return said


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make bench-quick", description=__doc__)
    parser.add_argument(
        "--record", action="store_true", help="keep what is measured in bench/recorded.json, for this kind of machine"
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long to measure")
    chosen = parser.parse_args(arguments)
    where = machine()
    began = time.perf_counter()
    bench = Bench({"firesteel.master": "local[2]"})
    bench.bare_jobs(1)  # starts Spark
    try:
        ratios = measure(bench, chosen.seconds - (time.perf_counter() - began))
    finally:
        bench.stop()
    record = nearest(load(RECORD), where)
    for caveat in caveats(record, where):
        print(caveat)
    tolerance = ELSEWHERE if record.differences(where) else TOLERANCE
    code = report(compare(record.ratios, ratios, tolerance), print)
    if chosen.record:
        store(RECORD, Record(where, ratios))
        print(f"recorded in {RECORD.name}")
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
