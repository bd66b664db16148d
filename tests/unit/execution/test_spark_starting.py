"""What is wrong before Spark starts is said in a line, and at once."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from firesteel.errors import ConfigurationError
from firesteel.execution.spark.starting import check_start, explained_start


@pytest.fixture(autouse=True)
def healthy_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A Java home that is one, and workers with this Python."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return java


@pytest.fixture
def listening_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize(
    "master", ["local", "local[1]", "local[*]", "local[4, 2]", "local-cluster[2,1,1024]", "k8s://https://host:443"]
)
def test_masters_of_spark_pass(master: str) -> None:
    check_start(master)


@pytest.mark.parametrize("master", ["locl[2]", "local[two]", "local[2", "localhost:7077", "mesos://host", "Yarn", ""])
def test_what_is_no_master_is_refused(master: str) -> None:
    with pytest.raises(ConfigurationError, match=r"firesteel\.master .* is no Spark master\. Expected one like"):
        check_start(master)


def test_a_master_that_nobody_runs_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"no Spark master answers at .*Connection refused.*--master"):
        check_start(f"spark://127.0.0.1:{free_port()}")
    with pytest.raises(ConfigurationError, match=r"no Spark master answers at spark://127.0.0.1:port"):
        check_start("spark://127.0.0.1:port")


def test_one_master_of_several_is_enough(listening_port: int) -> None:
    check_start(f"spark://127.0.0.1:{free_port()},127.0.0.1:{listening_port}")


def test_yarn_needs_the_clusters_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set"):
        check_start("yarn")
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    check_start("yarn")


def test_a_java_home_without_java_is_named_although_java_is_on_the_path(
    monkeypatch: pytest.MonkeyPatch, healthy_machine: Path
) -> None:
    monkeypatch.setenv("PATH", str(healthy_machine.parent))
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    with pytest.raises(ConfigurationError, match="JAVA_HOME is '/nonexistent', but there is no /nonexistent/bin/java"):
        check_start("local[2]")
    monkeypatch.delenv("JAVA_HOME")
    check_start("local[2]")


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="needs Java 17 or newer and none was found"):
        check_start("local[2]")


def test_a_python_that_is_not_there_is_named_for_local_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nonexistent/python")
    with pytest.raises(ConfigurationError, match="the workers' Python, '/nonexistent/python'"):
        check_start("local[2]")
    check_start("k8s://https://host")  # workers elsewhere have files of their own


def test_what_spark_says_itself_is_cut_to_its_cause() -> None:
    with pytest.raises(ConfigurationError) as failure, explained_start("local[1]"):
        raise RuntimeError("Error\n: a.b.OuterException: outer\n\tat x\nCaused by: c.InnerException: inner\n\tat y")
    assert str(failure.value).startswith("Spark did not start with the master 'local[1]': c.InnerException: inner. ")
    assert failure.value.__suppress_context__
