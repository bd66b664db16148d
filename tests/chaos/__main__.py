"""The long form: ``python -m tests.chaos --kills 1000`` breaks jobs in every way there is and goes on with random ones
until that many processes have been killed, several jobs at a time, and reports. ``--page`` writes the report into
docs/reliability.md."""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.damage import DAMAGES
from tests.chaos.faults import all_faults
from tests.chaos.killing import ChaosRun, Undisturbed, on_cluster, slots_and_workers
from tests.chaos.page import write_page
from tests.cluster.standalone import StandaloneCluster

Disturbance = Callable[["Chaos", Path], ChaosRun]
HOSTILE_NAMES = ("with space", "quo'te\"s", "per%20cent #1?", "[glob]*", "ünï-コ", "new\nline", "-dash", "$HOME;&|")
"""Names of folders that are allowed, and that somebody has."""


class Chaos:
    """Ways to disturb one job and bring it to its end. Each job gets its own, with choices of its own."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def _run(self, directory: Path, *more: str) -> ChaosRun:
        small = ["--epoch-records", str(self.choice.choice([20, 50, 100]))]
        return ChaosRun(directory, [*small, "--backend", self.choice.choice(["hashmap", "rocksdb"]), *more])

    def _to_end(self, run: ChaosRun) -> ChaosRun:
        if not run.finished:
            run.run_to_end()
        return run

    def _again_and_again(self, run: ChaosRun, disturb: Callable[[], None], times: int) -> ChaosRun:
        for _ in range(times):
            if not run.finished:
                disturb()
        return self._to_end(run)

    def kills_at(self, faults: list[str], directory: Path) -> ChaosRun:
        """The driver dies at these steps, one after the other."""
        run = self._run(directory)
        for fault in faults:
            if not run.finished:
                run.run_with_faults(fault)
        return self._to_end(run)

    def kills_at_some(self, directory: Path) -> ChaosRun:
        """The driver dies at steps that are chosen at random."""
        return self.kills_at(self.choice.sample(all_faults("kill", nth=self.choice.randint(1, 9)), 12), directory)

    def failures(self, directory: Path) -> ChaosRun:
        """Tasks and the driver fail at every step, and the job restarts in place."""
        run = ChaosRun(directory, ["--epoch-records", "20"])
        run.run_with_faults(*all_faults("raise", nth=self.choice.randint(1, 4)))
        return self._to_end(run)

    def damage(self, how: str, directory: Path) -> ChaosRun:
        """Files of checkpoints are damaged while the driver is dead."""
        run = ChaosRun(directory, ["--epoch-records", "20"])
        for step in ("state:after", "manifest:before", "commit:before"):
            run.run_with_faults(f"{step}:{self.choice.randint(3, 9)}:kill")
            run.damage_what_was_not_complete(how, self.choice)
            for manifest in (True, False):
                run.damage_last_checkpoint(manifest, how, self.choice)
        return self._to_end(run)

    def drivers(self, directory: Path) -> ChaosRun:
        """The driver is killed at random moments."""
        run = self._run(directory)
        return self._again_and_again(run, lambda: run.kill_driver_after(self.choice.uniform(0.05, 0.6)), 12)

    def hostile_names(self, directory: Path) -> ChaosRun:
        """The driver is killed at random moments, in a folder with a name that somebody has."""
        nested = directory / self.choice.choice(HOSTILE_NAMES)
        nested.mkdir()
        return self.drivers(nested)

    def clock_jumps(self, directory: Path) -> ChaosRun:
        """The host's clock jumps by up to a day while drivers are killed."""
        run = self._run(directory, "--clock-jumps")
        return self._again_and_again(run, lambda: run.kill_driver_after(self.choice.uniform(0.1, 0.8)), 4)

    def stops(self, directory: Path) -> ChaosRun:
        """Drivers are stopped (SIGSTOP) and go on, or are killed as they stand."""
        run = self._run(directory)

        def disturb() -> None:
            seconds, pause = self.choice.uniform(0.05, 0.6), self.choice.uniform(0.05, 0.3)
            run.stop_driver_after(seconds, pause, kill=self.choice.random() < 0.7)

        return self._again_and_again(run, disturb, 6)

    def groups(self, directory: Path) -> ChaosRun:
        """The whole process group gets SIGTERM."""
        run = self._run(directory)
        return self._again_and_again(run, lambda: run.terminate_after(self.choice.uniform(0.1, 0.8)), 6)

    # --- on Spark ------------------------------------------------------------------------------------

    def zombies(self, directory: Path) -> ChaosRun:
        """The driver dies while slots are busy, and its successor starts at once."""
        run = ChaosRun(directory, ["--target", "spark", "--epoch-records", "200", "--slow"])
        return self._again_and_again(run, run.leave_zombies, 3)

    def stuck(self, number: signal.Signals, directory: Path) -> ChaosRun:
        """The driver ends while a function waits for ever."""
        run = ChaosRun(directory, ["--target", "spark", "--epoch-records", "500"])
        run.end_while_stuck(number)
        return self._to_end(run)

    def java(self, directory: Path) -> ChaosRun:
        """The JVM dies."""
        run = ChaosRun(directory, ["--target", "spark", "--epoch-records", "200"])
        return self._again_and_again(run, run.kill_java, 2)

    def spark_groups(self, directory: Path) -> ChaosRun:
        """Driver and JVM get SIGTERM together, or are stopped together."""
        run = ChaosRun(directory, ["--target", "spark", "--epoch-records", "200"])
        run.terminate_after(self.choice.uniform(8, 12))
        if not run.finished:
            run.stop_driver_after(self.choice.uniform(8, 12), 1.0, kill=False)
        return self._to_end(run)

    def slots(self, directory: Path) -> ChaosRun:
        """Slot processes and Python workers are killed, in a local Spark."""
        run = ChaosRun(directory, ["--target", "spark", "--epoch-records", "500"])
        run.kill_while_running(4, slots_and_workers)
        return run

    def executors(self, cluster: StandaloneCluster, directory: Path) -> ChaosRun:
        """Executors, slot processes and Python workers are killed, on a cluster."""
        run, victims = on_cluster(cluster, directory, self.choice)
        run.kill_while_running(5, victims)
        return run


def in_one_process(seed: int) -> Iterator[Disturbance]:
    """All ways to disturb jobs that run in their driver, and then random ones without end."""
    for moment in ("before", "within", "after"):
        faults = [fault for fault in all_faults("kill") if f":{moment}:" in fault]
        yield lambda chaos, directory, faults=faults: chaos.kills_at(faults, directory)
    for how in DAMAGES:
        yield lambda chaos, directory, how=how: chaos.damage(how, directory)
    yield Chaos.failures
    yield Chaos.failures
    ways = [Chaos.drivers, Chaos.kills_at_some, Chaos.hostile_names, Chaos.stops, Chaos.groups, Chaos.clock_jumps]
    yield from ways
    choice = random.Random(seed)
    while True:
        yield choice.choices(ways, weights=[6, 6, 2, 1, 1, 1])[0]


def on_spark(cluster: StandaloneCluster) -> list[Disturbance]:
    """Jobs on Spark: each takes as long as a hundred others."""
    return [
        Chaos.slots,
        Chaos.zombies,
        lambda chaos, directory: chaos.stuck(signal.SIGTERM, directory),
        lambda chaos, directory: chaos.stuck(signal.SIGKILL, directory),
        lambda chaos, directory: chaos.stuck(signal.SIGINT, directory),
        Chaos.java,
        Chaos.spark_groups,
        *[lambda chaos, directory: chaos.executors(cluster, directory)] * 3,
    ]


@dataclass
class Tally:
    """What has happened so far."""

    base: Path
    seed: int
    undisturbed: Undisturbed
    jobs: int = 0
    wrong: list[str] = field(default_factory=list)
    broken: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def killed(self) -> int:
        return sum(count for kind, count in self.broken.items() if "killed" in kind)

    def run(self, disturb: Disturbance) -> None:
        """Run one job, disturbed, and compare what it leaves."""
        with self.lock:
            self.jobs += 1
            number = self.jobs
        directory = self.base / f"job-{number}"
        directory.mkdir()
        run = None
        try:
            run = disturb(Chaos(self.seed * 100_000 + number), directory)
            differences = self.undisturbed.differences(run)
        except Exception:
            differences = [traceback.format_exc()]
        with self.lock:
            kills = [] if run is None else run.kills
            self.broken.update(kills)
            verdict = f"DIFFERENT: {differences}" if differences else "output and state equal"
            self.wrong += [f"job {number}: {verdict}"] if differences else []
            print(f"job {number}: {len(kills)} times broken, {verdict} ({self.killed} kills)", flush=True)

    def run_until(self, kills: int, disturbances: Iterator[Disturbance]) -> None:
        """One lane of jobs, one after the other; several lanes draw from the same ways."""
        while self.killed < kills:
            with self.lock:
                disturb = next(disturbances)
            self.run(disturb)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="how many jobs at a time")
    parser.add_argument("--no-spark", action="store_true", help="leave out the jobs on Spark")
    parser.add_argument("--exchange", choices=["shuffle", "direct"], default="shuffle", help="of all jobs")
    parser.add_argument("--page", action="store_true", help="write the section of docs/reliability.md")
    options = parser.parse_args()
    os.environ["FIRESTEEL_TEST_EXCHANGE"] = options.exchange  # the programs look for it
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="firesteel-chaos-") as folder:
        base = Path(folder)
        (base / "undisturbed").mkdir()
        tally = Tally(base, options.seed, Undisturbed.run(base / "undisturbed"))
        ways = in_one_process(options.seed)
        with ThreadPoolExecutor(options.jobs + 1) as lanes:
            running = [lanes.submit(tally.run_until, options.kills, ways) for _ in range(options.jobs)]
            if not options.no_spark:
                running.append(lanes.submit(_run_on_spark, tally, base / "cluster"))
            for lane in running:
                lane.result()
    seconds = time.monotonic() - started
    others = tally.broken.total() - tally.killed
    print(
        f"\n{tally.jobs} jobs, {tally.killed} kills, {others} other faults in {seconds:.0f} s "
        f"({tally.killed * 60 / seconds:.0f} kills a minute): {len(tally.wrong)} wrong"
    )
    for kind, count in tally.broken.most_common():
        print(f"  {count:4d}  {kind}")
    print("\n".join(tally.wrong))
    if options.page:
        write_page(tally.jobs, tally.broken, len(tally.wrong), seconds)
    return 1 if tally.wrong else 0


def _run_on_spark(tally: Tally, work: Path) -> None:
    cluster = StandaloneCluster(work)
    try:
        for disturb in on_spark(cluster):
            tally.run(disturb)
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
