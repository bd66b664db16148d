"""What functions log in processes that Firesteel has started: with a format, to standard error."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from firesteel.common.options import PYTHON_LOGGING_LEVEL, PYTHON_LOGGING_LEVELS
from firesteel.errors import ConfigurationError

FORMAT = "%(asctime)s %(levelname)s %(name)s [pid %(process)d]: %(message)s"


def levels_by_logger(overrides: Mapping[str, str] | None) -> dict[str, str]:
    """The levels of single loggers; an unknown level is an error that names its logger."""
    levels = {}
    for name, level in (overrides or {}).items():
        try:
            levels[name] = PYTHON_LOGGING_LEVEL.value_type.parse(level)
        except ValueError:
            raise ConfigurationError(
                f"{PYTHON_LOGGING_LEVELS.key}: the level of {name} cannot be {level!r}: expected "
                f"{PYTHON_LOGGING_LEVEL.value_type.form}."
            ) from None
    return levels


class _Format(logging.Formatter):
    """Marks the handler that is ours: slots are forked from a process that has set up logging already."""


def set_up_logging(level: str, of_loggers: Mapping[str, str] | None = None) -> None:
    """Write what is logged from this level on to standard error, which Spark keeps with the executor's own.

    Functions that configure Python's ``logging`` themselves, for instance in ``open()``, keep what they set up.
    """
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_Format(FORMAT))
        root.addHandler(handler)
    if any(isinstance(handler.formatter, _Format) for handler in root.handlers):
        root.setLevel(level)
        for name, own in (of_loggers or {}).items():
            logging.getLogger(name).setLevel(own)
