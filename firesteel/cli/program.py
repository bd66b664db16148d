"""Running a program file in this process, as ``python job.py`` would."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import firesteel.pyflink
from firesteel.errors import ConfigurationError, FiresteelError, program_part
from firesteel.plan import unexecuted
from firesteel.pyflink.error_display import show_error

__all__ = ["ProgramFailedError", "run_program"]


class ProgramFailedError(FiresteelError):
    """The program raised something, which is the cause of this."""

    def show(self) -> None:
        """Write it to standard error as ``python job.py`` would, without the frames of this command."""
        error = self.__cause__
        assert error is not None
        trace = program_part(error.__traceback__)
        show_error(type(error), error.with_traceback(trace), trace)


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
            unexecuted.forget_all()
            if debug:
                raise
            raise ProgramFailedError(str(error)) from error


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
