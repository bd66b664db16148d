"""The long form: ``python -m tests.chaos --kills 100`` kills jobs until that many kills are reached, and reports."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.chaos.killing import ChaosRun
from tests.chaos.program import CRASH_POINTS


def disturbed_run(directory: Path, choice: random.Random) -> ChaosRun:
    """One job with some kills of one kind, brought to its end."""
    kind = choice.choice(["driver", "driver", "commit", "commit", "slots"])
    if kind == "slots":
        run = ChaosRun(directory, ["--target", "spark", "--epoch-records", "500"])
        run.kill_slots_while_running(times=choice.randint(1, 3))
        return run
    run = ChaosRun(directory)
    for _ in range(choice.randint(2, 6)):
        if run.finished:
            break
        if kind == "driver":
            run.kill_driver_after(choice.uniform(0.4, 2.0))
        else:
            point, when, nth = (
                choice.choice(sorted(CRASH_POINTS)),
                choice.choice(["before", "after"]),
                choice.randint(1, 9),
            )
            run.run_to_end("--crash", f"{point}:{when}:{nth}")
    if not run.finished:
        run.run_to_end()
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    choice = random.Random(options.seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="firesteel-chaos-") as folder:
        base = Path(folder)
        reference = ChaosRun(base / "undisturbed")
        reference.directory.mkdir()
        reference.run_to_end()
        expected = reference.output()
        kills: Counter[str] = Counter()
        jobs = wrong = 0
        while sum(kills.values()) < options.kills:
            directory = base / f"job-{jobs}"
            directory.mkdir()
            run = disturbed_run(directory, choice)
            jobs += 1
            same = run.output() == expected
            wrong += not same
            kills.update(
                " ".join(kill.split()[:2]) if kill.startswith("itself") else kill.split()[0] for kill in run.kills
            )
            print(f"job {jobs}: {len(run.kills)} kills, output {'equal' if same else 'DIFFERENT'}", flush=True)
    print(f"\n{jobs} jobs, {sum(kills.values())} kills in {time.monotonic() - started:.0f} s: {wrong} wrong")
    for kind, count in kills.most_common():
        print(f"  {count:4d}  {kind}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
