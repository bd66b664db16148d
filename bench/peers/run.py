"""Running the programs: an environment per engine, a process per run, the check of results, the times."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.peers.catalogue import Peer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "peers"
RUNS = BUILD / f"runs-{os.getpid()}"
"""Where programs write: a folder per measurement, so that two of them do not get into each other's way."""
SERVICE = BUILD / f"service-{os.getpid()}"
INPUTS = BUILD / "inputs"
PARALLELISM = 2
WARM_UP = 0.3
"""The share of the records that does not count as steady state."""


class PeerError(Exception):
    """A peer could not be set up, or its program failed."""


@dataclass(frozen=True)
class Times:
    """What one run tells.

    :param startup: Seconds from the start of the process to the first record (or first results, where records pass
        by the batch).
    :param rate: Records per second from 30% of the records to the end of the job.
    :param steady: How many seconds that took.
    :param whole: Seconds from the start of the process to its end.
    """

    startup: float
    rate: float
    steady: float
    whole: float


def steady_state(marks: Iterable[tuple[float, int]], records: int, started: float, ended: float) -> Times:
    """Times from marks: (when, how many records since the mark before), of all subtasks.

    A program that works on everything at once has no mark at 30% of the records. It is measured from its first one.
    """
    passed, steady_from = 0, None
    ordered = sorted(marks)
    if not ordered:
        raise PeerError("no progress was noted")
    for when, more in ordered:
        passed += more
        if passed >= WARM_UP * records:
            steady_from = (when, passed)
            break
    first = ordered[0]
    if steady_from is None or records - steady_from[1] < (1 - WARM_UP) * records / 2:
        steady_from = first
    seconds = ended - steady_from[0]
    return Times(first[0] - started, (records - steady_from[1]) / seconds, seconds, ended - started)


def python_of(peer: Peer) -> Path:
    """The interpreter of a peer's environment; Firesteel and the loop use this one."""
    if not _requirements(peer).exists():
        return Path(sys.executable)
    return BUILD / peer.name / "bin" / "python"


def _requirements(peer: Peer) -> Path:
    return HERE / "requirements" / f"{peer.name}.txt"


def set_up(peer: Peer) -> None:
    """Create the environment with the pinned versions, unless it is there.

    :raises PeerError: If it cannot be done; with the last lines of what pip said.
    """
    wanted = _requirements(peer)
    if not wanted.exists():
        return
    folder = BUILD / peer.name
    installed = folder / "installed.txt"
    if installed.exists() and installed.read_text(encoding="utf-8") == wanted.read_text(encoding="utf-8"):
        return
    print(f"setting up {peer.title}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [ROOT / "scripts" / "ensure-venv.sh", sys.executable, folder],
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted],
    ):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            raise PeerError(f"{peer.title} cannot be set up: {_end_of(done.stdout + done.stderr)}")
    shutil.copy(wanted, installed)


@contextmanager
def service(peer: Peer, timeout: float = 120) -> Iterator[None]:
    """What has to stand while a peer's programs run, such as a cluster; for most of them nothing."""
    if not peer.service:
        yield
        return
    shutil.rmtree(SERVICE, ignore_errors=True)
    SERVICE.mkdir(parents=True)
    address = _address(peer)
    with _process(peer, peer.service, ["--parallelism", str(PARALLELISM), "--address", str(address)], SERVICE) as one:
        deadline = time.monotonic() + timeout
        while not address.exists():
            if one.poll() is not None or time.monotonic() > deadline:
                raise PeerError(f"{peer.title}: its {peer.service} does not start: {_end_of(_log(SERVICE, peer))}")
            time.sleep(0.1)
        yield


def _address(peer: Peer) -> Path:
    return SERVICE / f"{peer.service}.address"


def run(peer: Peer, variant: str, work: str, records: int, check: bool = False, timeout: float = 300) -> dict[str, Any]:
    """One process. Returns what its program reported; with ``times``, unless results were to be checked."""
    shutil.rmtree(RUNS, ignore_errors=True)
    RUNS.mkdir(parents=True)
    out = RUNS / f"{peer.name}.json"
    given = ["--records", str(records), "--parallelism", str(PARALLELISM), "--out", str(out), "--variant", variant]
    if peer.prepared:
        given += ["--inputs", str(INPUTS)]
        _start(peer, [work, *given, "--prepare"], timeout)
    if peer.service:
        given += ["--service", str(_address(peer))]
    started = time.time()
    _start(peer, [work, *given, *(["--check"] if check else [])], timeout)
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if not check:
        lines = [line.split() for path in RUNS.glob(f"{out.name}.marks-*") for line in path.read_text().splitlines()]
        marks = [(float(when), int(more)) for when, more in lines]
        report["times"] = asdict(steady_state(marks, records, started, report["ended"]))
    return report


def _start(peer: Peer, arguments: list[str], timeout: float) -> None:
    with _process(peer, peer.name if peer.name == "loop" else f"on_{peer.name}", arguments, RUNS) as process:
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise PeerError(f"{peer.title} was not done after {timeout:.0f} s: {' '.join(arguments)}") from None
    if code:
        raise PeerError(f"{peer.title} failed ({code}): {' '.join(arguments)}\n{_end_of(_log(RUNS, peer))}")


@contextmanager
def _process(peer: Peer, program: str, arguments: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the environment of a peer, until it or what is done with it ends. Its output is in the log."""
    python = python_of(peer)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        # Engines start the "python" of the path for their workers.
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [str(python), "-m", f"bench.peers.programs.{program}", *arguments]
    with open(folder / f"{peer.name}.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            yield process
        finally:
            _end_group(process)


def _log(folder: Path, peer: Peer) -> str:
    return (folder / f"{peer.name}.log").read_text(encoding="utf-8", errors="replace")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a run: engines start processes of their own, which share its group."""
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        return
    process.wait()


def _end_of(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-8:])
