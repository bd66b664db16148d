"""Running a program file in this process, as ``python job.py`` would."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import firesteel.pyflink
from firesteel.errors import ConfigurationError, FiresteelError

__all__ = ["ProgramFailedError", "run_program"]

_PACKAGE_DIR = os.path.dirname(os.path.abspath(firesteel.__file__)) + os.sep


class ProgramFailedError(FiresteelError):
    """The program raised something.

    :ivar report: What to show: for an error of Firesteel its message and the line of the program, for any other the
        traceback as Python prints it, without the frames of this command.
    """

    def __init__(self, report: str) -> None:
        super().__init__(report)
        self.report = report


def run_program(path: str, arguments: Sequence[str], *, pyflink: bool = False, debug: bool = False) -> None:
    """Run a program file (or a directory or zip file with a ``__main__.py``) as ``__main__``.

    :param pyflink: Let ``import pyflink`` give Firesteel.
    :param debug: Let errors through as they are.
    :raises ProgramFailedError: If the program raises. SystemExit and KeyboardInterrupt pass.
    """
    if not os.path.exists(path):
        raise ConfigurationError(f"there is no program {path!r}. Relative paths start from {os.getcwd()}.")
    if pyflink:
        firesteel.pyflink.install()
    with _process_of(path, arguments):
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception as error:
            if debug:
                raise
            raise ProgramFailedError(_report(error)) from error


@contextmanager
def _process_of(path: str, arguments: Sequence[str]) -> Iterator[None]:
    """Make ``sys.argv`` and ``sys.path`` those of ``python path arguments...``."""
    argv, search_path = sys.argv, list(sys.path)
    sys.argv = [path, *arguments]
    if os.path.isfile(path) and not path.endswith(".zip"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = search_path


def _report(error: Exception) -> str:
    if not isinstance(error, FiresteelError):
        shown = traceback.TracebackException(type(error), error, _program_part(error.__traceback__))
        return "".join(shown.format())
    place = _line_of_program(error.__traceback__)
    at = f"  at {place}\n" if place is not None else ""
    return f"firesteel: {type(error).__name__}: {error}\n{at}"


def _program_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame of the program on: what comes before is this command and runpy."""
    rest = trace
    while rest is not None and _is_ours(rest):
        rest = rest.tb_next
    return rest if rest is not None else trace


def _is_ours(trace: TracebackType) -> bool:
    name = trace.tb_frame.f_code.co_filename
    return name.startswith((_PACKAGE_DIR, "<frozen ")) or trace.tb_frame.f_globals.get("__name__") == "runpy"


def _line_of_program(trace: TracebackType | None) -> str | None:
    """``file:line`` of the program's call into Firesteel."""
    place = None
    rest = _program_part(trace)
    while rest is not None and not _is_ours(rest):
        place = f"{rest.tb_frame.f_code.co_filename}:{rest.tb_lineno}"
        rest = rest.tb_next
    return place
