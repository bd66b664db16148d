"""Programs that ``import pyflink`` run on Firesteel, unchanged.

Three ways, all the same::

    firesteel run --pyflink job.py
    python -m firesteel.pyflink job.py

    import firesteel.pyflink            # at the top of a program, before pyflink is imported
    firesteel.pyflink.install()

From then on ``pyflink.datastream`` *is* ``firesteel.datastream`` (one module under two names), whether or not PyFlink
is installed, in this process and in the workers of its jobs. What Firesteel does not have raises ImportError where it
is imported, and the message says what comes nearest.
"""

from __future__ import annotations

import importlib
from typing import Any

from firesteel.pyflink.finder import PACKAGES as _PACKAGES
from firesteel.pyflink.finder import install, is_installed, uninstall
from firesteel.pyflink.missing import is_package as _is_package

__all__ = ["install", "is_installed", "uninstall"]


def __getattr__(name: str) -> Any:
    """The packages of PyFlink: this module is what a program gets for ``import pyflink``.

    Looked up when asked for, so that it works in a worker that has not imported them.
    """
    if name in _PACKAGES and _is_package(name):
        return importlib.import_module(f"firesteel.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
