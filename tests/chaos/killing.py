"""Running the program of ``tests.chaos.program`` while killing parts of it, and looking at what it has written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

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
        """Whether the job has ended well."""
        return (self.directory / "finished").exists()

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

    def kill_slots_while_running(self, random_source: random.Random, times: int) -> None:
        """Run it to its end while killing slot processes."""
        process = self.start()
        for _ in range(times):
            slot = self._next_slot(process)
            if slot is None:
                break
            os.kill(slot, signal.SIGKILL)
            (self.directory / f"slot-{slot}").unlink()
            self.kills.append(f"slot process {slot}")
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
