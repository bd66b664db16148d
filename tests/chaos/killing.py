"""Running the program of ``tests.chaos.program`` while killing parts of it, and looking at what it has written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.program import KEYS

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "tests" / "chaos" / "program.py"


@dataclass
class ChaosRun:
    """One job, from its first start to its end, whatever happens between.

    :param arguments: For the program.
    """

    directory: Path
    arguments: list[str] = field(default_factory=list)
    kills: list[str] = field(default_factory=list)
    """What was killed, in order."""

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Start the driver, for the first time or again."""
        command = [sys.executable, str(PROGRAM), str(self.directory), *self.arguments, *more]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True)

    @property
    def finished(self) -> bool:
        """Whether the job has ended well.

        A driver can be killed after its job has ended (all output is visible, the checkpoints of a finished job are
        deleted) and before it could say so. Started again, the program would rightly begin from nothing.
        """
        if (self.directory / "finished").exists():
            return True
        checkpoints = list((self.directory / "checkpoints").glob("chk-*/_metadata"))
        return not checkpoints and sum(line.startswith("final") for line in self.output()) == KEYS

    def run_to_end(self, *more: str) -> None:
        """Start it and wait for its end; a run that kills itself is one more kill."""
        process = self.start(*more)
        code = process.wait(timeout=300)
        if code == -signal.SIGKILL:
            self.kills.append(f"itself {' '.join(more)}")
        elif code != 0:
            raise AssertionError(f"the job failed:\n{(self.directory / 'log').read_text()[-4000:]}")

    def kill_driver_after(self, seconds: float) -> None:
        """Start it and kill the driver, with everything it has started, after so long."""
        process = self.start()
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.kills.append(f"driver after {seconds:.2f} s")

    def kill_slots_while_running(self, times: int) -> None:
        """Run it to its end while killing slot processes and, in turn, Spark's own Python workers."""
        process = self.start()
        for turn in range(times):
            slot = self._next_slot(process)
            if slot is None:
                break
            victims, kind = ([slot], "slot process") if turn % 2 == 0 else (_workers_beside(slot), "Python workers")
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
            (self.directory / f"slot-{slot}").unlink()
            self.kills.append(f"{kind} {victims}")
        code = process.wait(timeout=300)
        assert code == 0, (self.directory / "log").read_text()[-4000:]

    def _next_slot(self, process: subprocess.Popen[bytes]) -> int | None:
        """A slot process that has worked for the job since the last kill."""
        while process.poll() is None:
            for path in self.directory.glob("slot-*"):
                pid = int(path.name.removeprefix("slot-"))
                if Path(f"/proc/{pid}").exists() and pid != process.pid:
                    return pid
                path.unlink()
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
        return None

    def output(self) -> list[str]:
        """Every line that is visible to a reader of the sink's directory, sorted."""
        files = [path for path in (self.directory / "output").rglob("*") if path.is_file()]
        visible = [path for path in files if not any(part.startswith((".", "_")) for part in path.parts[-2:])]
        return sorted(line for path in visible for line in path.read_text().splitlines())


def _workers_beside(slot: int) -> list[int]:
    """Spark's Python workers on the host of a slot: the children of the daemon that the slot ends with."""
    daemon = int(Path(f"/proc/{slot}/cmdline").read_bytes().split(b"\0")[-4])
    children = Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()
    return [int(child) for child in children if b"slot import main" not in Path(f"/proc/{child}/cmdline").read_bytes()]
