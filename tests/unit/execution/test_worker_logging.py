"""How what functions log looks in the processes of the workers."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import sys
from collections.abc import Iterator

import pytest

from firesteel.errors import ConfigurationError
from firesteel.execution.worker_logging import levels_by_logger, set_up_logging


@contextlib.contextmanager
def bare_root() -> Iterator[logging.Logger]:
    """The root logger of a process without any logging set up. No fixture: pytest adds its handlers after those."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers[:] = []
    try:
        yield root
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def test_logs_have_a_time_a_level_a_logger_and_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    with bare_root():
        set_up_logging("INFO")
        logging.getLogger("my.functions").info("opened %d", 3)
        logging.getLogger("my.functions").debug("not shown")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO my\.functions \[pid \d+\]: opened 3\n", output.getvalue()
    )


@pytest.mark.parametrize(("level", "shown"), [("DEBUG", 4), ("INFO", 3), ("WARNING", 2), ("ERROR", 1)])
def test_the_level_is_the_lowest_that_is_shown(monkeypatch: pytest.MonkeyPatch, level: str, shown: int) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    log = logging.getLogger("my.functions")
    with bare_root():
        set_up_logging(level)
        for write in (log.debug, log.info, log.warning, log.error):
            write("said")
    assert output.getvalue().count("said") == shown


def test_a_process_that_was_forked_from_another_has_a_level_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    with bare_root() as root:
        set_up_logging("WARNING")
        set_up_logging("DEBUG")
        logging.getLogger("my.functions").debug("said")
        assert len(root.handlers) == 1
    assert output.getvalue().count("said") == 1


def test_logging_that_a_function_has_set_up_is_left_alone() -> None:
    own = logging.NullHandler()
    with bare_root() as root:
        root.addHandler(own)
        root.setLevel("ERROR")
        set_up_logging("DEBUG")
        assert (root.handlers, root.level) == ([own], logging.ERROR)


def test_single_loggers_have_levels_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    chatty, quiet = logging.getLogger("test.chatty"), logging.getLogger("test.quiet")
    with bare_root():
        set_up_logging("INFO", levels_by_logger({"test.chatty": "debug", "test.quiet": "WARN"}))
        chatty.debug("heard")
        quiet.info("not heard")
    chatty.setLevel(logging.NOTSET)
    quiet.setLevel(logging.NOTSET)
    assert "DEBUG test.chatty" in output.getvalue() and "not heard" not in output.getvalue()


def test_a_level_that_does_not_exist_names_its_logger() -> None:
    with pytest.raises(ConfigurationError, match=r"the level of my\.logger cannot be 'LOUD'"):
        levels_by_logger({"my.logger": "LOUD"})
