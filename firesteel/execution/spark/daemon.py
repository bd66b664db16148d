"""Spark's Python daemon, which forks its Python workers, made quiet (``spark.python.daemon.module``).

Spark closes the connection of a worker that had nothing to do for a minute. Over Unix sockets the worker takes that for
a failure and prints a traceback that tells nobody anything. It still ends, but says nothing.
"""

from __future__ import annotations

import os
from typing import Any


def main() -> None:
    """Run Spark's daemon."""
    from pyspark import daemon

    run_worker = daemon.worker

    def worker(*arguments: Any) -> int:
        try:
            code: int = run_worker(*arguments)
            return code
        except BrokenPipeError:
            os._exit(0)

    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()
