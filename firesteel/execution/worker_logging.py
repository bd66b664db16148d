"""What functions log in processes that Firesteel has started: with a format, to standard error."""

from __future__ import annotations

import logging

FORMAT = "%(asctime)s %(levelname)s %(name)s [pid %(process)d]: %(message)s"


def set_up_logging(level: str) -> None:
    """Write what is logged from this level on to standard error, which Spark keeps with the executor's own.

    Functions that configure Python's ``logging`` themselves, for instance in ``open()``, keep what they set up.
    """
    root = logging.getLogger()
    if not root.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(FORMAT))
        root.addHandler(handler)
        root.setLevel(level)
