"""The shared Spark session is set up as the engine needs it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from firesteel.common import Configuration
from firesteel.execution.spark.session import new_session_settings, settings_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_run_the_same_python_and_find_the_tests(spark: SparkSession) -> None:
    def look(_: int) -> tuple[str, str]:
        from tests.feature_report import FEATURES

        return sys.executable, FEATURES.name

    assert spark.sparkContext.parallelize([0], 1).map(look).collect() == [(sys.executable, "features.csv")]


def test_python_workers_talk_over_unix_sockets(spark: SparkSession) -> None:
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"


def test_a_local_jvm_leaves_the_cores_to_the_job() -> None:
    settings = settings_for("local[4]")

    assert settings["spark.shuffle.compress"] == "false"
    assert settings["spark.shuffle.checksum.enabled"] == "false"
    assert "-XX:+UseSerialGC" in settings["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "local-cluster[2,1,1024]"])
def test_on_a_cluster_shuffled_data_is_compressed_and_checked_as_spark_does(master: str) -> None:
    settings = settings_for(master)

    assert not [key for key in settings if key.startswith(("spark.shuffle.compress", "spark.shuffle.checksum"))]
    assert "-XX:" not in settings["spark.driver.extraJavaOptions"]


def test_a_local_spark_is_reached_from_this_host_only_and_asks_for_a_secret() -> None:
    settings = settings_for("local[4]")

    assert settings["spark.driver.bindAddress"] == settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.authenticate"] == "true"
    assert not [key for key in settings if "secret" in key], "what is set is seen among the arguments of the JVM"


def test_the_spark_of_the_tests_authenticates(spark: SparkSession) -> None:
    assert spark.conf.get("spark.authenticate") == "true"


IDLE = """
from pyspark import daemon
def closed_by_spark(*_):
    raise BrokenPipeError
daemon.worker, daemon.manager = closed_by_spark, lambda: daemon.worker(None, True)
from firesteel.execution.spark.daemon import main
main()
"""


def test_a_worker_that_spark_closes_after_a_minute_without_work_says_nothing() -> None:
    run = subprocess.run([sys.executable, "-c", IDLE], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_spark_s_temporary_files_are_where_they_go_with_the_program() -> None:
    settings = new_session_settings(Configuration(), {}, "local[2]", "/somewhere/of/ours")

    assert "-Djava.io.tmpdir=/somewhere/of/ours" in settings["spark.driver.extraJavaOptions"]
    assert settings["spark.python.daemon.module"] == "firesteel.execution.spark.daemon"
    assert "spark.python.unix.domain.socket.dir" not in settings
    deep = new_session_settings(Configuration(), {}, "local[2]", "/" + "deep/" * 20)
    assert deep["spark.python.unix.domain.socket.dir"] == "/tmp"
