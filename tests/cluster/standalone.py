"""A real standalone Spark cluster: a master and two workers, each worker a host of its own on the loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyspark

SPARK_HOME = Path(pyspark.__file__).parent
HOSTS = ("127.0.0.2", "127.0.0.3")


class Daemon:
    """A Spark master or worker, with its executors, as a group of processes of its own."""

    def __init__(self, host: str, main_class: str, *arguments: str) -> None:
        environment = {
            **os.environ,
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": host,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(Path(__file__).resolve().parent.parent.parent),
        }
        command = [str(SPARK_HOME / "bin" / "spark-class"), main_class, "--host", host, "--webui-port", "0", *arguments]
        self._drain: threading.Thread | None = None
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Read the log until a line matches; what comes after it is read and thrown away."""
        assert self._process.stdout is not None
        seen = []
        for line in self._process.stdout:
            seen.append(line)
            found = re.search(pattern, line)
            if found:
                self._drain = threading.Thread(target=self._process.stdout.read, daemon=True)
                self._drain.start()
                return found
        raise AssertionError(f"the daemon ended before it said {pattern!r}:\n" + "".join(seen))

    def processes(self, name: bytes) -> list[int]:
        """Its processes whose command line holds this name."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                mine = os.getpgid(int(path.name)) == self._process.pid and name in (path / "cmdline").read_bytes()
            except (ProcessLookupError, FileNotFoundError):  # it has ended meanwhile
                continue
            found += [int(path.name)] if mine else []
        return found

    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill it and its executors, as a machine that loses its power would."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            if self._drain is not None:
                self._drain.join()
            assert self._process.stdout is not None
            self._process.stdout.close()


class StandaloneCluster:
    """A master and a worker on each host."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._master = Daemon("127.0.0.1", "org.apache.spark.deploy.master.Master", "--port", "0")
        self.url = self._master.wait_for(r"Starting Spark master at (spark://\S+)").group(1)
        limits = ("--cores", "1", "--memory", "1g")
        self.workers = {
            host: Daemon(
                host, "org.apache.spark.deploy.worker.Worker", *limits, "--work-dir", str(work / host), self.url
            )
            for host in HOSTS
        }
        for worker in self.workers.values():
            worker.wait_for("Successfully registered with master")

    def running_workers(self) -> list[str]:
        """The hosts that no test has killed."""
        return [host for host, worker in self.workers.items() if worker.is_running()]

    def logs(self) -> str:
        """What all executors have written to standard error."""
        return "".join(log.read_text() for log in self._work.glob("*/app-*/*/stderr"))

    def executors(self) -> list[int]:
        """The Java processes of the executors on all hosts."""
        return [pid for worker in self.workers.values() for pid in worker.processes(b"CoarseGrainedExecutorBackend")]

    def stop(self) -> None:
        """End everything."""
        for daemon in (*self.workers.values(), self._master):
            daemon.kill()
