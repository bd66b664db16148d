"""Pages of Java become a sentence that says what to do."""

from __future__ import annotations

import pytest

from firesteel.execution.spark.failures import epoch_failure, headline

JAVA = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times\n"
    "\tat org.apache.spark.scheduler.DAGScheduler.x(DAGScheduler.scala:1)\n"
    "Caused by: java.io.IOException: {cause}\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... 24 more\n"
)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ('Cannot run program "/no/python": error=2', "the workers' Python, /no/python, is no program on their host"),
        ("x\nModuleNotFoundError: No module named 'numpy'", "no module 'numpy'. Install it there, or send it along"),
        ("[PYTHON_VERSION_MISMATCH] worker has 3.10 than that in driver: 3.11", "Python is 3.10, the driver's 3.11"),
        ("No space left on device", "java.io.IOException: No space left on device"),
    ],
)
def test_an_epoch_that_spark_cannot_run_says_why(cause: str, message: str) -> None:
    text = str(epoch_failure(RuntimeError(JAVA.format(cause=cause))))
    assert text.startswith("Spark could not run the epoch: ")
    assert message in text
    assert "\n" not in text
    assert len(text) < 700


def test_what_a_worker_raised_comes_before_what_java_makes_of_it() -> None:
    text = "x.PythonException: Traceback\nRuntimeError: the slot is gone\n\n\tat a.b(C.scala)\nCaused by: d.Error: e\n"
    assert headline(RuntimeError(text)) == "the slot is gone"


def test_an_error_without_java_is_its_own_headline() -> None:
    assert headline(ValueError("first line\nsecond")) == "ValueError: first line"
    assert len(headline(ValueError("x" * 10_000))) <= 600
