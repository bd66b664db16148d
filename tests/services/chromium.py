"""A real browser, from the system's packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--hide-scrollbars")


@dataclass(frozen=True)
class Page:
    """What a browser has made of a page.

    :param dom: The document, after scripts have run.
    :param complaints: What was written to the console.
    """

    dom: str
    complaints: list[str]


def chromium() -> str:
    """The browser's program. It is installed if it is missing, and if that is allowed."""
    for _ in range(2):
        found = next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)
        if found is not None:
            return found
        if os.geteuid() or shutil.which("apt-get") is None:
            break
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update"], env=quiet, capture_output=True, check=False)
        command = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
        subprocess.run(command, env=quiet, capture_output=True, check=False)
    pytest.fail("these tests need Chromium: install the package chromium")


def opened(program: str, url: str, width: int = 1300, milliseconds: int = 1000) -> Page:
    """Open a page, and let its scripts run for a while."""
    size = f"--window-size={width},900"
    command = [program, *_FLAGS, size, f"--virtual-time-budget={milliseconds}", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=True)
    return Page(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])
