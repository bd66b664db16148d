"""``python -m bench.soak --minutes 30``: the same job on both state backends, side by side, at a steady rate.

Prints what grew between the second quarter and the last; ``--page`` writes table and chart to docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.machine import machine
from bench.reports import HISTORY, save
from bench.soak.verdict import summary, windows, wrong_windows
from bench.soak.watch import MARK, marked, sample

BACKENDS = ("hashmap", "rocksdb")
SECONDS_BETWEEN_SAMPLES = 5.0
GRACE_SECONDS = 180


class Soak:
    """One job in a process of its own, and what was seen of it."""

    def __init__(self, backend: str, base: Path, rate: int, seconds: float) -> None:
        self.backend = backend
        self.mark = f"{os.getpid()}-{backend}"
        self.directory = base / backend
        self.samples: list[dict[str, float]] = []
        self._rate = rate
        self._started = time.monotonic()
        (self.directory / "tmp").mkdir(parents=True)
        environment = {**os.environ, MARK: self.mark, "TMPDIR": str(self.directory / "tmp")}
        command = ["bench.soak.program", str(self.directory), "--backend", backend]
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command, "--rate", str(rate), "--seconds", str(seconds)], env=environment
        )

    @property
    def runs(self) -> bool:
        """Whether the job's process is still there."""
        return self._process.poll() is None

    def look(self) -> None:
        """Take a sample."""
        seen = sample(self.mark, self.directory)
        progress = self.directory / "progress"
        lines = progress.read_text(encoding="utf-8").splitlines() if progress.exists() else []
        if lines and self.runs:
            minutes = (time.monotonic() - self._started) / 60
            self.samples.append({"minutes": round(minutes, 3), **seen, **json.loads(lines[-1])})

    def end(self) -> dict[str, Any]:
        """Wait for the job to stop, and judge."""
        code = self._process.wait(GRACE_SECONDS)
        if not self.samples:
            raise SystemExit(f"the job on {self.backend} ended with exit code {code} before it had done anything")
        time.sleep(2)  # what a job leaves behind is looked for after its processes had time to end
        left = sample(self.mark, self.directory)
        found = windows(self.directory / "output" / "windows")
        visits = windows(self.directory / "output" / "visits")
        wrong = wrong_windows(found, self._rate)
        if sum(number for _, number, _ in visits) != sum(number for _, _, number in visits):
            wrong.append("a visit has ended twice in a window")
        return {
            "backend": self.backend,
            "exit_code": code,
            "records": self.samples[-1]["records"],
            "minutes": self.samples[-1]["minutes"],
            "windows": len(found),
            "wrong": wrong,
            "late": self.samples[-1]["late"],
            "left_processes": len(marked(self.mark)),
            "left_files": left["tmp_files"],
            "growth": summary(self.samples),
            "samples": self.samples,
        }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=20_000, help="records per second of each of the two jobs")
    parser.add_argument("--page", action="store_true", help="write the section of docs/reliability.md")
    options = parser.parse_args(arguments)
    report: dict[str, Any] = {"machine": machine(), "rate": options.rate}
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        seconds = options.minutes * 60
        soaks = [Soak(backend, Path(folder), options.rate, seconds) for backend in BACKENDS]
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and all(soak.runs for soak in soaks):
            time.sleep(SECONDS_BETWEEN_SAMPLES)
            for soak in soaks:
                soak.look()
        report["jobs"] = [soak.end() for soak in soaks]
    show(report)
    save(report, "soak")
    if options.page:
        from bench.soak.page import write  # draws charts, which needs the extra `bench`

        save(report, "soak", HISTORY)
        write(report)
    return 1 if any(bad(job) for job in report["jobs"]) else 0


def bad(job: Mapping[str, Any]) -> bool:
    """Whether results are wrong, or the job did not end well or left something behind."""
    return bool(job["exit_code"] or job["wrong"] or job["late"] or job["left_processes"] or job["left_files"])


def show(report: Mapping[str, Any]) -> None:
    """Print what was found."""
    for job in report["jobs"]:
        verdict = "; ".join(job["wrong"][:5]) or "all windows right"
        done = f"{job['records']:,} records in {job['minutes']:.1f} min, {job['windows']} windows"
        print(f"{job['backend']}: {done}: {verdict}")
        print(f"  late {job['late']}, left behind: {job['left_processes']} processes, {job['left_files']} files")
        for name, (before, after) in job["growth"].items():
            print(f"  {name:18} {before:12,.1f} -> {after:12,.1f}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
