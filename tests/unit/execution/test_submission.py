"""Where a job runs, and with which settings: what the program says, what Spark was told, what is ours."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.common.warnings import FiresteelWarning
from firesteel.errors import ConfigurationError
from firesteel.execution.spark import session
from firesteel.execution.spark.session import (
    chosen_master,
    new_session_settings,
    parallelism_before_start,
    require_classic,
    warn_of_ignored_settings,
)
from firesteel.execution.spark.submission import submitted_settings

VARIABLES = ("MASTER", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_PYTHON")


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    yield


def of(**settings: str) -> Configuration:
    return Configuration.from_dict({key.replace("_", "."): value for key, value in settings.items()})


# ---- what Spark was told ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "--master yarn pyspark-shell",
        "--master=yarn pyspark-shell",
        "--conf spark.master=yarn pyspark-shell",
        "--conf=spark.master=yarn pyspark-shell",
        "-c spark.master=yarn pyspark-shell",
        "--master local[2] --name 'a b' --master yarn pyspark-shell",
        "--conf spark.master=local --master yarn pyspark-shell",
    ],
)
def test_the_submit_arguments_of_the_environment_name_the_master(
    monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    assert submitted_settings()["spark.master"] == "yarn"
    assert chosen_master(of(), submitted_settings()) == "yarn"


def test_sparks_own_defaults_are_read_as_spark_reads_them(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# a comment\n\nspark.master   yarn\nspark.ui.enabled=true\n spark.x.y : a b \n"
        "spark.driver.extraJavaOptions -Da=b\n"
    )
    assert submitted_settings() == {
        "spark.master": "yarn",
        "spark.ui.enabled": "true",
        "spark.x.y": "a b",
        "spark.driver.extraJavaOptions": "-Da=b",
    }


def test_a_properties_file_takes_the_place_of_the_defaults(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\n")
    (tmp_path / "other.conf").write_text("spark.master spark://host:7077\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {tmp_path / 'other.conf'} pyspark-shell")
    assert submitted_settings()["spark.master"] == "spark://host:7077"


def test_the_variable_master_counts_only_where_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MASTER", "spark://host:7077")
    assert submitted_settings() == {"spark.master": "spark://host:7077"}
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\n")
    assert submitted_settings() == {"spark.master": "yarn"}


def test_spark_home_has_the_defaults_where_no_other_folder_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR")
    assert submitted_settings() == {}  # pip's Spark has none
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.master yarn\n")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert submitted_settings() == {"spark.master": "yarn"}


# ---- where it runs ---------------------------------------------------------------------------------------------


def test_nobody_says_where_so_it_runs_on_this_machine() -> None:
    assert chosen_master(of(), {}) == "local[*]"
    assert parallelism_before_start(of()) is None


def test_the_program_comes_before_what_spark_was_told() -> None:
    told = {"spark.master": "yarn"}
    assert chosen_master(of(), told) == "yarn"
    assert chosen_master(of(firesteel_master="local[2]"), told) == "local[2]"
    assert chosen_master(of(spark_master="local[3]"), told) == "local[3]"


def test_the_programs_master_against_spark_submits_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.warns(FiresteelWarning, match=r"'local\[2\]'.*so spark-submit's 'yarn' has no effect"):
        assert chosen_master(of(firesteel_master="local[2]"), {"spark.master": "yarn"}) == "local[2]"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert chosen_master(of(firesteel_master="yarn"), {"spark.master": "yarn"}) == "yarn"


def test_a_driver_inside_the_cluster_cannot_run_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    told = {"spark.master": "yarn", "spark.submit.deployMode": "cluster"}
    with pytest.raises(ConfigurationError, match=r"in the cluster of 'yarn', but the program asks for 'local\[2\]'"):
        chosen_master(of(firesteel_master="local[2]"), told)


# ---- with which settings ---------------------------------------------------------------------------------------


def test_what_spark_was_told_wins_over_ours_and_the_program_over_both() -> None:
    told = {"spark.ui.enabled": "true", "spark.app.name": "told"}
    settings = new_session_settings(of(), told, "yarn")
    assert "spark.ui.enabled" not in settings and "spark.app.name" not in settings  # Spark has them from where they are
    assert settings["spark.stage.maxConsecutiveAttempts"] == "1"
    configuration = Configuration.from_dict({"spark.ui.enabled": "false", "spark.app.name": "own"})
    settings = new_session_settings(configuration, told, "yarn")
    assert (settings["spark.ui.enabled"], settings["spark.app.name"]) == ("false", "own")
    assert settings["spark.master"] == "yarn"


def test_java_options_of_the_user_are_added_after_ours() -> None:
    key = "spark.driver.extraJavaOptions"
    ours = new_session_settings(of(), {}, "local[2]")[key]
    assert new_session_settings(of(), {key: "-Da=b"}, "local[2]")[key] == f"{ours} -Da=b"
    own = Configuration.from_dict({key: "-Dc=d"})
    assert new_session_settings(own, {key: "-Da=b"}, "local[2]")[key] == f"{ours} -Dc=d"


def test_a_jvm_that_spark_submit_started_gets_no_java_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert "spark.driver.extraJavaOptions" not in new_session_settings(of(), {}, "yarn")


def test_sockets_of_sparks_workers_have_a_short_path_on_a_cluster() -> None:
    key = "spark.python.unix.domain.socket.dir"
    assert new_session_settings(of(), {}, "yarn")[key] == "/tmp"
    assert key not in new_session_settings(of(), {}, "local[2]")
    assert key not in new_session_settings(of(), {key: "/run/spark"}, "yarn")


@pytest.mark.parametrize(
    ("configuration", "told", "expected"),
    [
        ({}, {}, sys.executable),
        ({}, {"spark.pyspark.python": "/told"}, "/told"),
        ({"spark.pyspark.python": "/own"}, {"spark.pyspark.python": "/told"}, "/own"),
        ({"python.executable": "/exe", "spark.pyspark.python": "/own"}, {}, "/exe"),
    ],
)
def test_the_workers_python(configuration: dict[str, str], told: dict[str, str], expected: str) -> None:
    assert session._workers_python(Configuration.from_dict(configuration), told) == expected


# ---- sessions that are there already ---------------------------------------------------------------------------


class Running:
    """What is asked of the context of a running session."""

    master = "yarn"

    @staticmethod
    def getConf() -> dict[str, str]:
        return {"spark.executor.memory": "1g"}


def test_settings_that_come_too_late_for_a_running_session_are_named() -> None:
    late = Configuration.from_dict({"spark.executor.memory": "2g", "firesteel.master": "local[2]"})
    with pytest.warns(FiresteelWarning) as caught:
        warn_of_ignored_settings(late, Running())
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2
    assert texts[0].startswith("The master 'local[2]' has no effect")
    assert texts[1].startswith("spark.executor.memory has no effect")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_ignored_settings(of(spark_executor_memory="1g", firesteel_master="yarn"), Running())


def test_a_session_of_spark_connect_is_refused_with_a_way_out() -> None:
    class Connected:
        @property
        def sparkContext(self) -> Any:
            raise AttributeError("[JVM_ATTRIBUTE_NOT_SUPPORTED]")

    with pytest.raises(ConfigurationError, match=r"with a SparkContext, got .*Connected\. .*spark-submit"):
        require_classic(Connected())
