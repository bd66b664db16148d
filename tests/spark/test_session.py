"""The shared Spark session is set up as the engine needs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from firesteel.execution.spark.session import settings_for

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
