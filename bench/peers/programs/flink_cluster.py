"""A Flink cluster on this machine: a JobManager, and a TaskManager with one slot per subtask.

The MiniCluster that PyFlink starts by itself is one JVM. Python functions that run in threads of it share its one
interpreter lock, and two subtasks of them were slower than one (9,000 records/s against 16,000, and 40,000 in two
JVMs). One slot per TaskManager is also what Flink's own configuration file says.

The cluster stands until this process is ended; jobs are sent to the address that it writes down.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import time
import urllib.request
from json import load
from pathlib import Path
from urllib.error import URLError

import pyflink

from bench.peers.programs.harness import free_ports

HOME = Path(pyflink.__file__).resolve().parent
PATIENCE = 60
"""Seconds."""


def main() -> None:
    """Start a cluster, and write down the port of its REST interface when it has slots."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallelism", type=int, required=True)
    parser.add_argument("--address", type=Path, required=True)
    given = parser.parse_args()
    folder = given.address.parent
    rest, rpc = free_ports(2)
    environment = {
        **os.environ,
        "FLINK_CONF_DIR": str(configuration(folder / "conf", {"rest.port": rest, "jobmanager.rpc.port": rpc})),
        "FLINK_LIB_DIR": str(libraries(folder / "lib")),
        "FLINK_LOG_DIR": str(folder),
    }
    scripts = ["jobmanager.sh"] + ["taskmanager.sh"] * given.parallelism
    running = [
        subprocess.Popen(["bash", HOME / "bin" / script, "start-foreground"], env=environment) for script in scripts
    ]
    wait_for_slots(rest, given.parallelism)
    given.address.write_text(str(rest), encoding="utf-8")
    for process in running:
        process.wait()


def configuration(folder: Path, options: dict[str, int]) -> Path:
    """Flink's own configuration, and where to listen."""
    shutil.copytree(HOME / "conf", folder)
    with (folder / "config.yaml").open("a", encoding="utf-8") as file:
        file.writelines(f"\n{name}: {value}" for name, value in options.items())
    return folder


def libraries(folder: Path) -> Path:
    """Flink's libraries, with the one for Python among them: threads can be used by one class loader only."""
    folder.mkdir()
    for jar in (*HOME.glob("lib/*.jar"), *HOME.glob("opt/flink-python-*.jar")):
        (folder / jar.name).symlink_to(jar)
    return folder


def wait_for_slots(port: int, wanted: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/overview") as answer:
                if load(answer)["slots-available"] >= wanted:
                    return
        except (URLError, ConnectionError):
            pass
        time.sleep(0.1)
    raise TimeoutError(f"the Flink cluster has not had {wanted} slots within {PATIENCE} s")


if __name__ == "__main__":
    main()
