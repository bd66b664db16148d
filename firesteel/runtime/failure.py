"""Failures of user code, in a form that travels from a worker to the driver without losing the user's view."""

from __future__ import annotations

import builtins
import difflib
import dis
import os
import reprlib
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from firesteel.errors import FiresteelError

_PYTHON_DIR = os.path.dirname(os.path.abspath(traceback.__file__))
_FRAMES_OF_OURS = 3
_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_shorten = reprlib.Repr()
_shorten.maxstring = _shorten.maxother = 200
_LONGEST_TEXT = 10_000
"""So many characters of a message or traceback are kept: it travels to the driver, and somebody has to read it."""
_RAISE = dis.opmap["RAISE_VARARGS"]


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
        message, user_traceback = bounded(message), bounded(user_traceback)
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
            _safe_text(error),
            _user_traceback(error),
            _safe_repr(record[0]) if record else None,
        )

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """The message for the user: their exception and traceback first, then where in the program it was."""
        headline = f"{self.exception_type}: {self.message}" if self.message else self.exception_type
        record = "" if self.record is None else f"\n  record:   {self.record}"
        trace = f"{self.user_traceback.rstrip()}\n\n" if self.user_traceback else ""
        return (
            f"{headline}\n\n{trace}"
            f"  operator: {self.info.name} (uid {self.info.uid})\n"
            f"  made at:  {self.info.call_site}{record}"
        )


def _user_traceback(error: BaseException) -> str:
    """The traceback as the user needs it: without our own frames, with what Python suggests for a misspelt name.

    Where no line of the user is in it, an error of ours says by itself what to do; of another one the last frames are
    kept, for whoever has to look into it.
    """
    trace = traceback.TracebackException.from_exception(error)
    if _keep_users_frames(trace):
        return "".join(trace.format()).rstrip() + _suggestion(error)
    if isinstance(error, FiresteelError):
        return ""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_pythons_own(frame.filename)]
    trace.stack = traceback.StackSummary.from_list(ours[-_FRAMES_OF_OURS:])
    return "".join(trace.format(chain=False))


def _keep_users_frames(trace: traceback.TracebackException) -> bool:
    """Take our frames out, and exceptions before this one that happened in none of the user's; whether any are left."""
    for earlier in ("__cause__", "__context__"):
        before = getattr(trace, earlier)
        if before is not None and not _keep_users_frames(before):
            setattr(trace, earlier, None)
    frames = [frame for frame in trace.stack if not frame.filename.startswith(_PACKAGE_DIR + os.sep)]
    trace.stack = traceback.StackSummary.from_list(frames)
    return any(not _is_pythons_own(frame.filename) for frame in frames)


def _is_pythons_own(filename: str) -> bool:
    in_library = filename.startswith(_PYTHON_DIR + os.sep) and f"{os.sep}site-packages{os.sep}" not in filename
    return in_library or filename.startswith("<frozen ")


def _suggestion(error: BaseException) -> str:
    """The name that was probably meant. Python 3.11 says it only where it prints the error itself."""
    if sys.version_info >= (3, 12) or not isinstance(error, (AttributeError, NameError)) or error.name is None:
        return ""
    if isinstance(error, AttributeError):
        known = dir(error.obj)
    else:
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        known = [] if last is None else [*last.tb_frame.f_locals, *last.tb_frame.f_globals, *dir(builtins)]
    near = difflib.get_close_matches(error.name, known, n=1, cutoff=0.7)
    return f". Did you mean: {near[0]!r}?" if near else ""


def _safe_repr(value: Any) -> str:
    try:
        return bounded(_shorten.repr(value), 1000)
    except (
        Exception,
        SystemExit,
        GeneratorExit,
    ) as error:  # a record's own __repr__ may fail; that must not hide the real failure
        return f"<{type(value).__name__} whose repr() raised {type(error).__name__}>"


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)
    except (Exception, SystemExit, GeneratorExit) as failed:  # an exception's own __str__ may fail, too
        return f"<a message whose str() raised {type(failed).__name__}>"


def bounded(text: str, longest: int = _LONGEST_TEXT) -> str:
    """The text, or its beginning and its end with a word between them on how much was left out."""
    if len(text) <= longest:
        return text
    gap = f" ... [{len(text) - longest:,} characters left out] ... "
    kept = longest - len(gap)
    return text[: kept * 2 // 3] + gap + text[len(text) - kept // 3 :]


def is_from_outside(error: BaseException) -> bool:
    """Whether an exception does not come from the user's code but stops it: Ctrl-C, the end of a generator, our own.

    ``raise KeyboardInterrupt`` in a function is the function's failure, as ``sys.exit()`` is.
    """
    if isinstance(error, Exception | SystemExit):
        return False
    if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
        return not _is_raised_by_statement(error)
    return type(error).__module__.partition(".")[0] == __name__.partition(".")[0]


def _is_raised_by_statement(error: BaseException) -> bool:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE
