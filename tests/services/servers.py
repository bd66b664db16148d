"""Real servers on this machine, started for the tests and ended with them: S3 (moto) and HDFS (Hadoop's own)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOWNLOADS = ROOT / "build" / "services"
MAVEN_CENTRAL = os.environ.get("MAVEN_CENTRAL", "https://repo1.maven.org/maven2")
REGION = "us-east-1"


def wait_for(what: str, is_there: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Look until something is there; fail if that takes two minutes, or if the server has ended."""
    deadline, pause = time.monotonic() + 120, threading.Event()
    while not is_there():
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(
                f"{what} has not come up (exit code {process.poll()}):\n{log.read_text()[-3000:]}", pytrace=False
            )
        pause.wait(0.1)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def answers(url: str, expected: str = "") -> bool:
    """Whether a server answers at a URL, with something in its answer."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return expected in answer.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@contextlib.contextmanager
def running(
    command: list[str], log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is ended with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# ---- S3 ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def s3_server(directory: Path) -> Iterator[dict[str, str]]:
    """An S3 server with a bucket ``firesteel``; gives the environment by which it is reached."""
    (port,) = free_ports(1)
    log = directory / "s3.log"
    endpoint = f"http://127.0.0.1:{port}"
    reached_by = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "firesteel",
        "AWS_SECRET_ACCESS_KEY": "firesteel",
        "AWS_DEFAULT_REGION": REGION,
    }
    python = DOWNLOADS / "s3" / "bin" / "python"  # of its own: what it needs does not go with what Firesteel needs
    if not python.exists():
        pytest.fail("there is no S3 server in build/services: run `make test-services`", pytrace=False)
    with running([str(python), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], log) as process:
        wait_for("the S3 server", lambda: answers(f"{endpoint}/moto-api/"), process, log)
        make_bucket(endpoint.removeprefix("http://"))
        yield reached_by


def make_bucket(address: str) -> None:
    from pyarrow import fs

    keys = {"access_key": "firesteel", "secret_key": "firesteel"}
    client = fs.S3FileSystem(
        endpoint_override=address, scheme="http", region=REGION, allow_bucket_creation=True, **keys
    )
    client.create_dir("firesteel")


# ---- HDFS --------------------------------------------------------------------------------------------------------

_HDFS_SETTINGS = {
    "dfs.replication": "1",
    "dfs.datanode.address": "127.0.0.1:0",
    "dfs.datanode.http.address": "127.0.0.1:0",
    "dfs.datanode.ipc.address": "127.0.0.1:0",
    "dfs.datanode.hostname": "127.0.0.1",
    "dfs.permissions.enabled": "false",
    "dfs.namenode.datanode.registration.ip-hostname-check": "false",
}


def spark_jars() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "jars"


def hadoop_servers() -> list[Path]:
    """Jars with HDFS's servers: most of Hadoop comes with PySpark, the servers from Maven Central."""
    (api,) = spark_jars().glob("hadoop-client-api-*.jar")
    version = api.stem.removeprefix("hadoop-client-api-")
    names = ("hadoop-client-runtime-", "slf4j-api-", "log4j-", "jcl-over-slf4j-")
    own = [jar for jar in spark_jars().glob("*.jar") if jar.name.startswith(names)]
    return [download("org/apache/hadoop", "hadoop-client-minicluster", version), api, *own]


def download(group: str, name: str, version: str) -> Path:
    """A jar from Maven Central, or from the mirror that MAVEN_CENTRAL names; kept for the next time."""
    target = DOWNLOADS / f"{name}-{version}.jar"
    if target.exists():
        return target
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    url = f"{MAVEN_CENTRAL}/{group}/{name}/{version}/{name}-{version}.jar"
    part = target.with_suffix(f".{os.getpid()}.part")
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, part.open("wb") as file:
            shutil.copyfileobj(answer, file)
    except (OSError, urllib.error.URLError) as error:
        part.unlink(missing_ok=True)
        pytest.fail(
            f"A server cannot be downloaded from {url}: {error}. Set MAVEN_CENTRAL to a mirror that can be "
            f"reached, or put the file at {target}",
            pytrace=False,
        )
    part.rename(target)
    return target


def hadoop_site(settings: dict[str, str]) -> str:
    properties = "".join(f"<property><name>{k}</name><value>{v}</value></property>\n" for k, v in settings.items())
    return f"<configuration>\n{properties}</configuration>\n"


@contextlib.contextmanager
def hdfs_servers(directory: Path) -> Iterator[str]:
    """A name node and a data node; gives the address of WebHDFS."""
    rpc, http = free_ports(2)
    configuration = directory / "conf"
    configuration.mkdir()
    core = {"fs.defaultFS": f"hdfs://127.0.0.1:{rpc}", "hadoop.tmp.dir": str(directory / "data")}
    (configuration / "core-site.xml").write_text(hadoop_site(core))
    own = {"dfs.namenode.http-address": f"127.0.0.1:{http}"}
    (configuration / "hdfs-site.xml").write_text(hadoop_site(_HDFS_SETTINGS | own))
    path = os.pathsep.join(map(str, [configuration, *hadoop_servers()]))
    java = ["java", "-XX:TieredStopAtLevel=1", "-cp", path]
    server = "org.apache.hadoop.hdfs.server"
    name_log, data_log = directory / "name-node.log", directory / "data-node.log"
    made = subprocess.run([*java, f"{server}.namenode.NameNode", "-format", "-nonInteractive"], check=False)
    assert made.returncode == 0
    state = f"http://127.0.0.1:{http}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
    with (
        running([*java, f"{server}.namenode.NameNode"], name_log) as name_node,
        running([*java, f"{server}.datanode.DataNode"], data_log) as data_node,
    ):
        wait_for(
            "HDFS's name node",
            lambda: answers(f"http://127.0.0.1:{http}/webhdfs/v1/?op=LISTSTATUS"),
            name_node,
            name_log,
        )
        wait_for("HDFS's data node", lambda: _live_nodes(state) == 1, data_node, data_log)
        yield f"127.0.0.1:{http}"


def _live_nodes(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            beans = json.load(answer)["beans"]
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return 0
    return int(beans[0]["NumLiveDataNodes"]) if beans else 0
