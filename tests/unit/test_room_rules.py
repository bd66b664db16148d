"""The rules of this room hold: no sleeping, no Spark."""

from __future__ import annotations

import time

import pytest


def test_sleeping_raises() -> None:
    with pytest.raises(AssertionError, match="does not sleep"):
        time.sleep(0)


def test_starting_spark_raises() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    for start in (SparkContext, SparkContext.getOrCreate, SparkSession.builder.getOrCreate):
        with pytest.raises(AssertionError, match="without Spark"):
            start()
