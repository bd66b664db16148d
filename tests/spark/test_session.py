"""The shared Spark session is set up as the engine needs it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_run_the_same_python_and_find_the_tests(spark: SparkSession) -> None:
    def look(_: int) -> tuple[str, str]:
        from tests.feature_report import FEATURES

        return sys.executable, FEATURES.name

    assert spark.sparkContext.parallelize([0], 1).map(look).collect() == [(sys.executable, "features.csv")]


def test_python_workers_talk_over_unix_sockets(spark: SparkSession) -> None:
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"
