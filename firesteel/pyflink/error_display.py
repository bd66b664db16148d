"""How errors that nobody catches look on the terminal."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from firesteel.errors import report, shown_in_brief
from firesteel.pyflink.missing import import_hint

__all__ = ["DEBUG_VARIABLE", "install_display", "show_error"]

DEBUG_VARIABLE = "FIRESTEEL_DEBUG"
"""Set to anything, errors of Firesteel are shown with their whole traceback."""


def install_display() -> None:
    """Let a program that ends with an error of Firesteel show it as ``firesteel run`` does.

    A hook that the program, a debugger or a notebook has set is left in place.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = show_error


def show_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write an error to standard error: one of Firesteel by its message and the program's line, any other as always.

    Python itself writes the others, so that its suggestions ("Did you mean") are there; where an import from Firesteel
    failed, a line says what there is.
    """
    if shown_in_brief(error) and not os.environ.get(DEBUG_VARIABLE):
        sys.stderr.write(report(error))
        return
    sys.__excepthook__(kind, error, trace)
    hint = import_hint(error) if isinstance(error, ImportError) else None
    if hint is not None:
        sys.stderr.write(f"firesteel: {hint}\n")
