"""The examples about bounded data print what they say. They run in this process, on its Spark session."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "batch").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_an_example_prints_what_it_says(script: Path, spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    assert spark.getActiveSession() is not None
    runpy.run_path(str(script), run_name="__main__")
    _, heading, block = script.read_text(encoding="utf-8").rpartition("\n# Output")
    first, *lines = block.splitlines()
    expected = [line.removeprefix("# ") for line in lines]
    printed = capfd.readouterr().out.splitlines()
    assert heading and expected
    assert (sorted(printed) if "any order" in first else printed) == expected
