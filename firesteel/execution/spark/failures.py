"""Failures of Spark in the words of whoever runs a job, instead of pages of Java."""

from __future__ import annotations

import logging
import re
from typing import Any

from firesteel.errors import JobFailedError

log = logging.getLogger("firesteel.spark")

_CAUSE = re.compile(r"^(?:Caused by: |: )((?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b.*)$", re.MULTILINE)
_FROM_PYTHON = "RuntimeError: "
_LONGEST = 600
_HINTS = (
    (
        re.compile(r'Cannot run program "([^"]*)"'),
        "the workers' Python, {0}, is no program on their host. It comes from python.executable or PYSPARK_PYTHON: "
        "name one that is installed on all hosts",
    ),
    (
        re.compile(r"PYTHON_VERSION_MISMATCH.*?(\d+\.\d+).*?(\d+\.\d+)", re.DOTALL),
        "the workers' Python is {0}, the driver's {1}; they have to be the same. Name it with python.executable",
    ),
    (
        re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'"),
        "the workers' Python has no module {0!r}. Install it there, or send it along with python.requirements or "
        "python.files",
    ),
)


def epoch_failure(error: Exception) -> JobFailedError:
    """The error of an epoch that Spark could not run. Spark's own account goes to the log, at level DEBUG."""
    text = str(error)
    log.debug("Spark's account of the failure: %s", text)
    for pattern, hint in _HINTS:
        found = pattern.search(text)
        if found is not None:
            return JobFailedError(f"Spark could not run the epoch: {hint.format(*found.groups())}")
    return JobFailedError(f"Spark could not run the epoch: {headline(error)}")


def headline(error: BaseException) -> str:
    """What was the matter in the end: the innermost cause, in one line."""
    text = str(error).strip()
    if _FROM_PYTHON in text:
        text = text[text.rindex(_FROM_PYTHON) + len(_FROM_PYTHON) :].partition("\n\n")[0]
    else:
        causes = _CAUSE.findall(text)
        text = causes[-1] if causes else f"{type(error).__name__}: {text.partition(chr(10))[0]}"
    return text.strip()[:_LONGEST].rstrip(".")


def is_alive(context: Any) -> bool:
    """Whether the JVM of a Spark session answers, and the session has not been stopped."""
    try:
        return not context._jsc.sc().isStopped()
    except Exception:  # a refused connection, an answer that ended in the middle, a context without a JVM
        return False


def spark_is_gone(job_name: str) -> str:
    """What to say when it does not."""
    return (
        f"the Spark session of job {job_name!r} is gone: its JVM has ended, or the session was stopped. It may have "
        "been killed, for want of memory for instance (spark.driver.memory). The job cannot go on in this process. "
        "Start the program again: with execution.checkpointing.dir it goes on from its last checkpoint"
    )
