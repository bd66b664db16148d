"""The rules of this room hold: no sleeping, no Spark. And the tests end when they are told to."""

from __future__ import annotations

import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st


def test_sleeping_raises() -> None:
    with pytest.raises(AssertionError, match="does not sleep"):
        time.sleep(0)


def test_starting_spark_raises() -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    for start in (SparkContext, SparkContext.getOrCreate, SparkSession.builder.getOrCreate):
        with pytest.raises(AssertionError, match="without Spark"):
            start()


def test_sigterm_ends_the_tests_while_hypothesis_looks_for_examples() -> None:
    runs = []

    @given(st.integers())
    def told_to_end(number: int) -> None:
        runs.append(number)
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        told_to_end()
    assert len(runs) == 1
