"""The long form: ``python -m tests.chaos --kills 100`` breaks jobs in every way there is, then kills drivers at random
moments until that many processes have been killed, and reports."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.chaos.damage import DAMAGES
from tests.chaos.faults import all_faults
from tests.chaos.killing import ChaosRun, Undisturbed, on_cluster, slots_and_workers
from tests.cluster.standalone import StandaloneCluster

Disturbance = Callable[[Path], ChaosRun]


class Chaos:
    """Ways to disturb one job and bring it to its end."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)

    def _run(self, directory: Path) -> ChaosRun:
        small = ["--epoch-records", str(self.choice.choice([20, 50, 100]))]
        return ChaosRun(directory, [*small, "--backend", self.choice.choice(["hashmap", "rocksdb"])])

    def _to_end(self, run: ChaosRun) -> ChaosRun:
        if not run.finished:
            run.run_to_end()
        return run

    def kills_at(self, faults: list[str], directory: Path) -> ChaosRun:
        """The driver dies at these steps, one after the other."""
        run = self._run(directory)
        for fault in faults:
            if not run.finished:
                run.run_with_faults(fault)
        return self._to_end(run)

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
        for _ in range(self.choice.randint(3, 8)):
            if not run.finished:
                run.kill_driver_after(self.choice.uniform(0.05, 0.8))
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

    def everything(self, cluster: StandaloneCluster) -> Iterator[Disturbance]:
        """All ways, and then random ones without end."""
        for moment in ("before", "within", "after"):
            faults = [fault for fault in all_faults("kill") if f":{moment}:" in fault]
            yield lambda directory, faults=faults: self.kills_at(faults, directory)
        for how in DAMAGES:
            yield lambda directory, how=how: self.damage(how, directory)
        yield self.failures
        yield self.failures
        yield self.slots
        for _ in range(3):
            yield lambda directory: self.executors(cluster, directory)
        while True:
            yield self.drivers
            faults = self.choice.sample(all_faults("kill", nth=self.choice.randint(1, 9)), 5)
            yield lambda directory, faults=faults: self.kills_at(faults, directory)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    broken: Counter[str] = Counter()
    jobs = wrong = killed = 0
    with tempfile.TemporaryDirectory(prefix="firesteel-chaos-") as folder:
        base = Path(folder)
        (base / "undisturbed").mkdir()
        undisturbed = Undisturbed.run(base / "undisturbed")
        cluster = StandaloneCluster(base / "cluster")
        try:
            for disturb in Chaos(options.seed).everything(cluster):
                if killed >= options.kills:
                    break
                jobs += 1
                (base / f"job-{jobs}").mkdir()
                run = disturb(base / f"job-{jobs}")
                differences = undisturbed.differences(run)
                wrong += bool(differences)
                broken.update(run.kills)
                killed = sum(count for kind, count in broken.items() if "killed" in kind)
                verdict = f"DIFFERENT: {differences}" if differences else "output and state equal"
                print(f"job {jobs}: {len(run.kills)} times broken, {verdict}", flush=True)
        finally:
            cluster.stop()
    seconds = time.monotonic() - started
    print(f"\n{jobs} jobs, {killed} kills, {broken.total() - killed} other faults in {seconds:.0f} s: {wrong} wrong")
    for kind, count in broken.most_common():
        print(f"  {count:4d}  {kind}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
