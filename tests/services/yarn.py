"""Hadoop YARN on this machine: a resource manager and a node manager, started for the tests and ended with them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.services.servers import answers, download, free_ports, hadoop_servers, hadoop_site, running, wait_for

_BOUNCY_CASTLE = "1.82"

_SETTINGS = {
    "yarn.nodemanager.hostname": "127.0.0.1",
    "yarn.nodemanager.address": "127.0.0.1:0",
    "yarn.nodemanager.localizer.address": "127.0.0.1:0",
    "yarn.nodemanager.webapp.address": "127.0.0.1:0",
    "yarn.nodemanager.resource.memory-mb": "4096",
    "yarn.nodemanager.resource.cpu-vcores": "4",
    # Nothing of the host itself decides: neither how much of its memory processes reserve nor how full its disk is.
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.enable": "false",
    "yarn.scheduler.minimum-allocation-mb": "256",
}
_QUEUES = {
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
}
_MANAGER_PORTS = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")


@dataclass(frozen=True)
class Yarn:
    """A running YARN.

    :param configuration: The folder that ``HADOOP_CONF_DIR`` names.
    """

    configuration: Path
    logs: Path
    web: str

    def executor_logs(self) -> str:
        """What all containers but the application masters have written to standard error."""
        logs = self.logs.glob("application_*/container_*/stderr")
        return "".join(log.read_text() for log in logs if not log.parent.name.endswith("_000001"))


@contextlib.contextmanager
def yarn_servers(directory: Path) -> Iterator[Yarn]:
    """A resource manager and a node manager with four cores."""
    yarn = _configure(directory)
    castle = [download("org/bouncycastle", f"bc{part}-jdk18on", _BOUNCY_CASTLE) for part in ("prov", "pkix", "util")]
    path = os.pathsep.join(map(str, [yarn.configuration, *hadoop_servers(), *castle]))
    java = ["java", "-XX:TieredStopAtLevel=1", "-cp", path]
    server = "org.apache.hadoop.yarn.server"
    manager_log, node_log = directory / "resource-manager.log", directory / "node-manager.log"
    nodes = f"{yarn.web}/ws/v1/cluster/nodes"
    with (
        running([*java, f"{server}.resourcemanager.ResourceManager"], manager_log) as manager,
        running([*java, f"{server}.nodemanager.NodeManager"], node_log) as node,
    ):
        wait_for("YARN's resource manager", lambda: answers(nodes), manager, manager_log)
        wait_for("YARN's node manager", lambda: answers(nodes, '"state":"RUNNING"'), node, node_log)
        yield yarn


def _configure(directory: Path) -> Yarn:
    ports = [f"127.0.0.1:{port}" for port in free_ports(len(_MANAGER_PORTS))]
    addresses = {f"yarn.resourcemanager.{name}": at for name, at in zip(_MANAGER_PORTS, ports, strict=True)}
    folders = {"yarn.nodemanager.local-dirs": directory / "local", "yarn.nodemanager.log-dirs": directory / "logs"}
    own = {**addresses, **{key: str(folder) for key, folder in folders.items()}}
    configuration = directory / "conf"
    configuration.mkdir()
    core = {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(directory / "data")}
    for name, settings in (("core-site", core), ("yarn-site", _SETTINGS | own), ("capacity-scheduler", _QUEUES)):
        (configuration / f"{name}.xml").write_text(hadoop_site(settings))
    return Yarn(configuration, directory / "logs", f"http://{ports[-1]}")
