"""Running the program of ``tests.chaos.program`` while breaking parts of it, and looking at what it leaves."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos import program
from tests.chaos.damage import Copy, damage_file, files_of_last_checkpoint, files_of_no_checkpoint
from tests.chaos.faults import mark_of
from tests.chaos.program import KEYS, has_checkpoints, savepoints
from tests.chaos.state import stored_state
from tests.cluster.standalone import StandaloneCluster
from tests.written_files import visible_files

Victims = Callable[[int, int], tuple[str, list[int]]]
"""From the number of the turn and a slot process that has just worked: what it is called, and what to kill."""

MARK = "FIRESTEEL_CHAOS"
"""In the environment of everything that a driver on Spark starts: the directory of its job."""
ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "tests" / "chaos" / "program.py"


class Driver:
    """A process that runs the program, and the leader of a session of its own.

    It is forked from a process that has imported everything: most of a short job's time would go into that. On Spark
    it is a process of its own that runs the script, as a user's would.
    """

    def __init__(self, arguments: list[str], log: Path) -> None:
        self._script = "spark" in arguments
        if self._script:
            with log.open("ab") as output:
                self._process: Any = subprocess.Popen(
                    [sys.executable, str(PROGRAM), *arguments],
                    cwd=ROOT,
                    env={**os.environ, "PYTHONPATH": str(ROOT), MARK: arguments[0]},
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        else:
            self._process = _FORKS.Process(target=_run_program, args=(arguments, str(log)), daemon=True)
            self._process.start()

    @property
    def pid(self) -> int:
        """Its number."""
        pid: int = self._process.pid
        return pid

    def wait(self, seconds: float = 300) -> int | None:
        """Its exit code, waiting at most so long for it; None if it still runs."""
        if not self._script:
            self._process.join(seconds)
            code: int | None = self._process.exitcode
            return code
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return code

    def signal(self, number: int) -> None:
        """Send a signal to it and everything in its process group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:  # it has no session of its own yet, nor has it started anything
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, with everything it has started."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has no session of its own yet, nor has it started anything
            os.kill(self.pid, signal.SIGKILL)
        self.wait()


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.chaos.program"])


def _run_program(arguments: list[str], log: str) -> None:
    os.setsid()
    with open(log, "ab") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    program.main(arguments)


@dataclass
class ChaosRun:
    """One job, from its first start to its end, whatever happens between.

    :param arguments: For the program.
    """

    directory: Path
    arguments: list[str] = field(default_factory=list)
    kills: list[str] = field(default_factory=list)
    """What was killed or broken, in order."""

    def start(self, *more: str) -> Driver:
        """Start the driver, for the first time or again."""
        return Driver([str(self.directory), *self.arguments, *more], self.directory / "log")

    def log(self) -> str:
        """The end of what the driver has said."""
        return (self.directory / "log").read_text()[-4000:]

    @property
    def finished(self) -> bool:
        """Whether the job has ended well.

        A driver can be killed after its job has ended (all output is visible, the checkpoints of a finished job are
        deleted) and before it could say so. Started again, the program would rightly begin from its savepoint.
        """
        if (self.directory / "finished").exists():
            return True
        if has_checkpoints(self.directory / "last-checkpoints"):
            return False
        return sum(line.startswith("final") for line in self.output()) == KEYS

    def run_to_end(self) -> None:
        """Start it and wait for its end."""
        code = self.start().wait()
        assert code == 0, f"the job failed:\n{self.log()}"

    def run_with_faults(self, *faults: str) -> list[str]:
        """Start it with faults (``step:moment:n:kill|raise``) and wait for its end. Returns those that have struck."""
        code = self.start(*(word for fault in faults for word in ("--fault", fault))).wait()
        marks = {fault: mark_of(self.directory, fault) for fault in faults}
        struck = [fault for fault, mark in marks.items() if mark.exists()]
        killed = any(fault.endswith("kill") for fault in struck)
        assert code == 0 or (killed and code == -signal.SIGKILL), f"the job failed:\n{self.log()}"
        for fault in struck:
            marks[fault].unlink()
            step, moment, _, action = fault.split(":")
            self.kills.append(f"{'killed' if action == 'kill' else 'failed'} {moment} {step}")
        return struck

    def kill_driver_after(self, seconds: float) -> None:
        """Start it and kill the driver, with everything it has started, after so long."""
        driver = self.start()
        code = driver.wait(seconds)
        if code is None:
            driver.kill()
            self.kills.append("driver killed")
        else:
            assert code == 0, f"the job failed:\n{self.log()}"

    def stop_driver_after(self, seconds: float, pause: float, kill: bool) -> None:
        """Start it, stop everything of it for a while (SIGSTOP), and let it go on, or kill it as it stands."""
        driver = self.start()
        if driver.wait(seconds) is None:
            driver.signal(signal.SIGSTOP)
            driver.wait(pause)
            if kill:
                driver.kill()
                self.kills.append("driver stopped and killed")
                return
            driver.signal(signal.SIGCONT)
            self.kills.append("driver stopped and continued")
        code = driver.wait()
        assert code == 0, f"the job failed:\n{self.log()}"

    def terminate_after(self, seconds: float) -> None:
        """Start it and end its whole process group by SIGTERM after so long."""
        driver = self.start()
        if driver.wait(seconds) is None:
            driver.signal(signal.SIGTERM)
            self.kills.append("process group killed by SIGTERM")
        code = driver.wait()
        assert code in (0, 128 + signal.SIGTERM, -signal.SIGTERM), f"the job failed:\n{self.log()}"

    # --- on Spark --------------------------------------------------------------------------------------

    def leave_zombies(self) -> None:
        """Kill the driver alone while slots are busy; the next one is started at once."""
        driver = self.start()
        if self._next_slot(driver) is None:
            return
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
        self.kills.append("driver killed, slots busy")

    def kill_java(self) -> None:
        """Kill the JVM. The driver has to end with an error that says so, and soon."""
        driver = self.start()
        if self._next_slot(driver) is None:
            return
        for pid in _started_by(str(self.directory)):
            if b"java" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                os.kill(pid, signal.SIGKILL)
                self.kills.append("JVM killed")
        assert driver.wait() not in (None, 0), f"the driver goes on without a JVM:\n{self.log()}"
        assert "JVM" in self.log(), f"nothing is said of the JVM:\n{self.log()}"

    def end_while_stuck(self, number: signal.Signals) -> None:
        """End the driver while a function waits for ever. Nothing of it may be left."""
        driver = self.start("--stuck")
        while driver.wait(0.05) is None and not (self.directory / "stuck").exists():
            continue
        os.kill(driver.pid, number)
        driver.wait()
        self.kills.append(f"driver killed by {number.name}, function stuck")
        deadline = time.monotonic() + 60
        while left := _started_by(str(self.directory)):
            assert time.monotonic() < deadline, f"processes are left: {left}"
            time.sleep(0.1)

    # --- files ---------------------------------------------------------------------------------------

    @property
    def checkpoints(self) -> Path:
        """The checkpoint directory of the part of the job that is under way."""
        first = self.directory / "checkpoints"
        return first if has_checkpoints(first) else self.directory / "last-checkpoints"

    def damage_what_was_not_complete(self, how: str, choice: random.Random) -> None:
        """Damage a state file that no completed checkpoint needs. The job does not care."""
        files = files_of_no_checkpoint(self.checkpoints) if has_checkpoints(self.checkpoints) else []
        if files:
            damage_file(choice.choice(files), how, choice)
            self.kills.append(f"file of an incomplete checkpoint {how}")

    def damage_last_checkpoint(self, manifest: bool, how: str, choice: random.Random) -> None:
        """Damage the manifest or a state file of the last checkpoint, see that the job refuses it, and put it back.

        The job must name the file, and change no checkpoint.
        """
        if not has_checkpoints(self.checkpoints):
            return
        whole, leftovers = Copy.of(self.checkpoints), set(files_of_no_checkpoint(self.checkpoints))
        metadata, *state_files = files_of_last_checkpoint(self.checkpoints)
        damaged = metadata if manifest else choice.choice(state_files)
        damage_file(damaged, how, choice)
        before = Copy.of(self.checkpoints).files
        code = self.start().wait()
        assert code not in (None, 0, -signal.SIGKILL), f"the job went on though {damaged} was {how}"
        assert damaged.name in self.log(), f"nothing is said about {damaged}:\n{self.log()}"
        after = Copy.of(self.checkpoints).files
        changed = [path for path in {*before, *after} - leftovers if before.get(path) != after.get(path)]
        assert not changed, f"files of checkpoints were changed: {changed}"
        whole.restore()
        self.kills.append(f"{'manifest' if manifest else 'state file'} {how}")

    # --- processes -----------------------------------------------------------------------------------

    def kill_while_running(self, times: int, victims: Victims) -> None:
        """Run it to its end while killing processes.

        :param victims: Says what.
        """
        driver = self.start()
        for turn in range(times):
            slot = self._next_slot(driver)
            if slot is None:
                break
            kind, pids = victims(turn, slot)
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            for path in self.directory.glob("slot-*"):
                path.unlink()
            self.kills.append(kind)
        code = driver.wait()
        assert code == 0, f"the job failed:\n{self.log()}"

    def _next_slot(self, driver: Driver) -> int | None:
        """A slot process that has worked for the job since the last kill."""
        while driver.wait(0.05) is None:
            for path in self.directory.glob("slot-*"):
                pid = int(path.name.removeprefix("slot-"))
                if Path(f"/proc/{pid}").exists() and pid != driver.pid:
                    return pid
                path.unlink()
        return None

    # --- what it leaves ------------------------------------------------------------------------------

    def output(self) -> list[str]:
        """Every line that is visible to a reader of the sink's directory, sorted."""
        written = visible_files(self.directory / "output")
        return sorted(line for path in written for line in path.read_text().splitlines())

    def states(self) -> list[dict[str, list[Any]]]:
        """The final state: more than once if the job was killed after its savepoint and before it had stopped."""
        return [stored_state(path) for path in savepoints(self.directory)]


def _started_by(directory: str) -> list[int]:
    """All processes that the driver of a job on Spark has started and that still run."""
    mark, found = f"{MARK}={directory}\0".encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:  # it has ended meanwhile, or is somebody else's
            continue
    return found


def slots_and_workers(turn: int, slot: int) -> tuple[str, list[int]]:
    """In turn: the slot process, and Spark's own Python workers."""
    return ("slot process killed", [slot]) if turn % 2 == 0 else ("Python workers killed", _workers_beside(slot))


def on_cluster(cluster: StandaloneCluster, directory: Path, choice: random.Random) -> tuple[ChaosRun, Victims]:
    """A job on a cluster, and what to kill there: every other time one of the executors, which Spark starts anew."""
    arguments = ["--target", "spark", "--master", cluster.url, "--epoch-records", "200", "--rate", "400"]

    def victims(turn: int, slot: int) -> tuple[str, list[int]]:
        if turn % 2 == 0:
            return "executor killed", [choice.choice(cluster.executors())]
        return slots_and_workers(turn // 2, slot)

    return ChaosRun(directory, arguments), victims


def _workers_beside(slot: int) -> list[int]:
    """Spark's Python workers on the host of a slot: the children of the daemon that its keeper watches."""
    daemon = int(Path(f"/proc/{slot}/cmdline").read_bytes().split(b"\0")[-2])
    return [int(child) for child in Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()]


@dataclass
class Undisturbed:
    """What the job leaves when nothing happens to it."""

    output: list[str]
    state: dict[str, list[Any]]

    @staticmethod
    def run(directory: Path) -> Undisturbed:
        """Run it once."""
        run = ChaosRun(directory)
        run.run_to_end()
        (state,) = run.states()
        return Undisturbed(run.output(), state)

    def differences(self, run: ChaosRun) -> list[str]:
        """What is not as it should be after a disturbed run: nothing, one hopes."""
        found = [] if run.finished else ["it has not finished"]
        if run.output() != self.output:
            found.append(f"output: {sorted(set(run.output()) ^ set(self.output))[:5]}")
        states = run.states()
        if not states:
            found.append("there is no final state")
        for state in states:
            names = {*state, *self.state}
            found.extend(f"state {name}" for name in sorted(names) if state.get(name) != self.state.get(name))
        return found
