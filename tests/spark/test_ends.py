"""Programs that are ended from outside while their functions are busy: nothing is left of them. And who can reach them.

Each program is a process of its own, with a temporary directory of its own, by which everything that belongs to it is
found.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from firesteel.state.work_directory import sweep
from tests.spark.busy_program import SAVED

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 150.0


def wait_until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.05)


class Program:
    """``tests/spark/busy_program.py``, running."""

    def __init__(self, folder: Path, how: str, *arguments: str, by: tuple[str, ...] = ()) -> None:
        self.folder, self.temporary = folder, folder / "temporary"
        self.temporary.mkdir(parents=True)
        self._errors = (folder / "errors").open("w")
        self.process = subprocess.Popen(
            [sys.executable, *by, str(ROOT / "tests" / "spark" / "busy_program.py"), str(folder), how, *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary)},
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            start_new_session=True,
        )

    def marks(self, kind: str) -> list[Path]:
        return sorted(self.folder.glob(f"{kind}-*"))

    def wait_until_busy(self) -> None:
        wait_until(lambda: bool(self.marks("busy")) or self.process.poll() is not None, f"{self.folder} is busy")
        assert self.process.poll() is None, self.errors()

    def errors(self) -> str:
        return (self.folder / "errors").read_text()

    def processes(self) -> dict[int, str]:
        """Everything that it has started and that still runs, whoever is the parent now."""
        mark, found = f"TMPDIR={self.temporary}\0".encode(), {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (path / "environ").read_bytes():
                    found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
            except OSError:  # it has ended meanwhile, or is somebody else's
                continue
        return found

    def wait_until_gone(self) -> int:
        """Its exit code, once nothing of it runs any more."""
        code = self.process.wait(PATIENCE)
        wait_until(lambda: not self.processes(), f"all processes have ended: {self.processes()}")
        self._errors.close()
        return code

    def left(self) -> list[str]:
        """What is in its temporary directory after somebody else has looked for the work of killed processes."""
        sweep(str(self.temporary))
        return sorted(path.name for path in self.temporary.iterdir())


@pytest.mark.feature("RR-04")
def test_nothing_is_left_of_a_program_whose_functions_are_busy_when_it_is_ended(tmp_path: Path) -> None:
    """By SIGTERM while a function waits, in the background and with direct exchange too, by Ctrl-C while one loops, by
    SIGKILL while one ignores all signals, with either exchange.
    """
    waits = Program(tmp_path / "SIGTERM", "block")
    behind = Program(tmp_path / "background", "block", "--background", "--direct")
    loops = Program(tmp_path / "SIGINT", "loop")
    ignores = Program(tmp_path / "SIGKILL", "ignore")
    direct = Program(tmp_path / "direct", "ignore", "--direct")
    ends = [
        (waits, signal.SIGTERM),
        (behind, signal.SIGTERM),
        (loops, signal.SIGINT),
        (ignores, signal.SIGKILL),
        (direct, signal.SIGKILL),
    ]
    for program, number in ends:
        program.wait_until_busy()
        program.process.send_signal(number)

    assert waits.wait_until_gone() == 143, waits.errors()
    assert behind.wait_until_gone() == 143, behind.errors()
    assert loops.wait_until_gone() in (1, 130, -signal.SIGINT)
    assert ignores.wait_until_gone() == direct.wait_until_gone() == -signal.SIGKILL

    assert len(waits.marks("closed")) == len(waits.marks("opened")) > 0
    assert len(loops.marks("closed")) == len(loops.marks("opened")) > 0
    assert len(behind.marks("closed")) == len(behind.marks("opened")) > 0
    assert "Traceback" not in waits.errors() + behind.errors()
    assert [program.left() for program, _ in ends] == [[]] * len(ends)


@pytest.mark.feature("RR-04")
def test_sigterm_ends_an_endless_job_in_good_order_and_it_goes_on_later(tmp_path: Path) -> None:
    """With ``firesteel run``: what was checkpointed stays, and who starts the program again goes on from there.

    A job in the background that is fed by a streaming DataFrame ends too. Nothing is printed.
    """
    checkpoints = tmp_path / "checkpoints"
    by = ("-m", "firesteel", "run", "--master=local[2]")
    program = Program(tmp_path / "first", "count", str(checkpoints), "--dataframe", by=by)
    wait_until(lambda: any(checkpoints.glob("chk-*/_metadata")) or program.process.poll() is not None, "a checkpoint")
    listening = list(open_to_others(program))
    program.process.send_signal(signal.SIGTERM)

    assert program.wait_until_gone() == 143, program.errors()
    said = [line for line in program.errors().splitlines() if "incubator modules" not in line]
    assert said == [], "\n".join(said[:50])
    assert len(program.marks("closed")) == len(program.marks("opened")) > 0
    assert list(checkpoints.glob("chk-*/_metadata"))
    assert program.left() == []
    assert listening == [], "in local mode everything listens on the loopback only"

    again = Program(tmp_path / "second", "count", str(checkpoints), "--in-process")
    wait_until(lambda: bool(again.marks("restored")) or again.process.poll() is not None, "it goes on")
    again.process.send_signal(signal.SIGTERM)
    assert again.wait_until_gone() == 143, again.errors()
    assert int(again.marks("restored")[0].name.removeprefix("restored-")) >= SAVED


def open_to_others(program: Program) -> Iterator[str]:
    """Addresses at which the program's processes listen and which others than this host can reach."""
    sockets = set()
    for pid in program.processes():
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                target = os.readlink(descriptor)
            except OSError:
                continue
            if target.startswith("socket:["):
                sockets.add(target[8:-1])
    listening = 0
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                listening += 1
                address = _address(fields[1].partition(":")[0])
                if not address.startswith("127.") and address not in ("::1", "::ffff:127.0.0.1"):
                    yield f"{address}:{int(fields[1].partition(':')[2], 16)}"
    assert listening, "it listens nowhere: this test looks at the wrong processes"


def _address(text: str) -> str:
    words = [struct.pack("=I", int(text[at : at + 8], 16)) for at in range(0, len(text), 8)]
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, b"".join(words))
