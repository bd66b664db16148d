"""Failures of user code, in a form that travels from a worker to the driver without losing the user's view."""

from __future__ import annotations

import os
import reprlib
import traceback
from dataclasses import dataclass
from typing import Any

_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_shorten = reprlib.Repr()
_shorten.maxstring = _shorten.maxother = 200


@dataclass(frozen=True)
class OperatorInfo:
    """Who an operator is, for messages: its name, its stable id, and the user's line that made it."""

    name: str
    uid: str
    call_site: str


class OperatorFailure(Exception):
    """An exception raised while an operator worked. Everything in it is text: it can be pickled whatever was raised.

    :ivar user_traceback: The traceback without our own frames, ending in the user's exception.
    :ivar record: The record in work, shortened, or None if there was none (a timer, ``open``).
    """

    def __init__(
        self, info: OperatorInfo, exception_type: str, message: str, user_traceback: str, record: str | None
    ) -> None:
        super().__init__(info, exception_type, message, user_traceback, record)
        self.info = info
        self.exception_type = exception_type
        self.message = message
        self.user_traceback = user_traceback
        self.record = record

    @classmethod
    def of(cls, info: OperatorInfo, error: BaseException, *record: Any) -> OperatorFailure:
        """Describe an exception. ``record`` is the record in work, if there is one."""
        return cls(
            info,
            type(error).__name__,
            str(error),
            _user_traceback(error),
            _safe_repr(record[0]) if record else None,
        )

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """The message for the user: their exception and traceback first, then where in the program it was."""
        headline = f"{self.exception_type}: {self.message}" if self.message else self.exception_type
        record = "" if self.record is None else f"\n  record:   {self.record}"
        return (
            f"{headline}\n\n{self.user_traceback.rstrip()}\n\n"
            f"  operator: {self.info.name} (uid {self.info.uid})\n"
            f"  made at:  {self.info.call_site}{record}"
        )


def _user_traceback(error: BaseException) -> str:
    """The formatted traceback with our own frames left out; all frames if there are no others."""
    trace = traceback.TracebackException.from_exception(error)
    frames = [frame for frame in trace.stack if not frame.filename.startswith(_PACKAGE_DIR + os.sep)]
    if frames:
        trace.stack = traceback.StackSummary.from_list(frames)
    return "".join(trace.format())


def _safe_repr(value: Any) -> str:
    try:
        return _shorten.repr(value)
    except Exception as error:  # a record's own __repr__ may fail; that must not hide the real failure
        return f"<{type(value).__name__} whose repr() raised {type(error).__name__}>"
