"""Places on servers, and running the program there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field

from firesteel.connectors.files.storage import open_storage
from tests.services.program import expected
from tests.services.servers import ROOT


@dataclass
class Place:
    """A directory of a test's own on a server.

    :param environment: What a process needs to reach it.
    """

    uri: str
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run ``tests.services.program`` here to its end, whatever that is."""
        return subprocess.run(
            [sys.executable, "-m", "tests.services.program", self.uri, *arguments],
            cwd=ROOT,
            env={**os.environ, **self.environment, "PYTHONPATH": str(ROOT), **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def output(self) -> list[str]:
        """All lines that readers see, sorted."""
        storage, path = open_storage(f"{self.uri}/output")
        lines: list[str] = []
        for entry in storage.entries(path):
            if not entry.is_directory:
                with storage.open(entry.path) as file:
                    lines += file.read().decode().splitlines()
        return sorted(lines)

    def must_have_all(self, records: int) -> None:
        assert self.output() == expected(records)


def finished(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 0, run.stderr[-3000:]
