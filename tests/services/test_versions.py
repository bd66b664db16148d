"""Other versions of Spark and Python than those of `make test`: the oldest with all tests, the others with a sample."""

from __future__ import annotations

import sys

import pytest

from tests.services.environments import environment, find_python, run_tests

OLDEST = "3.5.9"
BETWEEN = ("4.0.5", "4.1.4", "4.2.1")

SAMPLE = (
    "tests/spark/test_session.py",
    "tests/spark/test_dataframe_connector.py",
    "tests/features/test_keyed_streams.py",
    "tests/features/test_checkpoints.py",
    "tests/features/test_errors.py",
    "-k",
    "spark",
)


@pytest.mark.feature("DE-02")
def test_the_whole_suite_passes_on_the_oldest_spark() -> None:
    run_tests(environment(f"spark-{OLDEST}", sys.executable, pyspark=OLDEST), minutes=40)


@pytest.mark.parametrize("version", BETWEEN)
def test_a_sample_passes_on_the_sparks_between(version: str) -> None:
    run_tests(environment(f"spark-{version}", sys.executable, pyspark=version), *SAMPLE, minutes=10)


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_newer_pythons_run_the_unit_tests_and_a_sample_on_spark(version: str) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    own = environment(f"python-{version}", python)
    run_tests(own, "tests/unit", "tests/contract", minutes=10)
    run_tests(own, *SAMPLE, minutes=10)
