"""Every example runs as a user would run it, and prints what the comment at its end says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
SOCKET_EXAMPLE = ROOT / "examples" / "10_socket_word_count.py"
IN_PROCESS = "execution.target: in-process"
ON_SPARK = "firesteel.master: local[2]\nspark.ui.enabled: false"


def run(script: Path, properties: str, *arguments: str) -> list[str]:
    environment = {**os.environ, "FIRESTEEL_PROPERTIES": properties, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def expected_output(script: Path) -> tuple[list[str], bool]:
    """The lines in the comment at the end of an example, and whether their order is promised."""
    _, heading, block = script.read_text(encoding="utf-8").rpartition("\n# Output")
    assert heading, f"{script.name} says nothing about its output"
    first, *lines = block.splitlines()
    return [line.removeprefix("# ") for line in lines], "any order" not in first


def assert_prints_what_it_says(script: Path, printed: list[str]) -> None:
    expected, ordered = expected_output(script)
    assert expected
    if ordered:
        assert printed == expected
    else:
        assert sorted(printed) == sorted(expected)


@pytest.mark.parametrize("script", [path for path in EXAMPLES if path != SOCKET_EXAMPLE], ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(script: Path) -> None:
    assert_prints_what_it_says(script, run(script, IN_PROCESS))


@pytest.mark.parametrize("name", ["01_adults", "07_event_time_timers"])
def test_an_example_prints_the_same_on_spark(name: str) -> None:
    script = ROOT / "examples" / f"{name}.py"
    assert_prints_what_it_says(script, run(script, ON_SPARK))


def test_the_socket_example_counts_what_a_server_sends() -> None:
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"to be or\nnot to be\n")

        thread = threading.Thread(target=serve)
        thread.start()
        printed = run(SOCKET_EXAMPLE, IN_PROCESS, "localhost", str(server.getsockname()[1]))
        thread.join()
    assert_prints_what_it_says(SOCKET_EXAMPLE, printed)


def test_the_order_of_one_key_holds() -> None:
    script = ROOT / "examples" / "04_running_sum.py"
    alice = [line for line in run(script, IN_PROCESS) if "alice" in line]
    assert alice == ["('alice', 10)", "('alice', 15)", "('alice', 17)"]
