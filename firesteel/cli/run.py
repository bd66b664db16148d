"""``firesteel run``: run a program."""

from __future__ import annotations

import argparse
from typing import Any

from firesteel.cli.program import run_program
from firesteel.cli.settings import DEFAULT_REST_PORT, add_settings, settings_from, with_settings

__all__ = ["add_command"]

_DESCRIPTION = """\
Run a Python program, as `python job.py` would, with settings from the command line.

The program makes its environment with StreamExecutionEnvironment.get_execution_environment(), which starts with these
settings. The driver of the job is this process: it ends when the program does. Ctrl-C cancels the job after
its present epoch; a second one ends it at once.
"""
_EPILOG = """\
examples:
  firesteel run job.py
  firesteel run job.py --input lines.txt           what follows job.py goes to the program
  firesteel run --master 'local[4]' -p 4 job.py
  firesteel run --in-process job.py                breakpoint() in a map function stops
  firesteel run --conf execution.checkpointing.interval='10 s' \\
                --conf execution.checkpointing.dir=/data/checkpoints job.py
  firesteel run --conf spark.executor.memory=4g --master yarn job.py
  firesteel run --from-savepoint /data/savepoints/savepoint-1f2e3d-5a6b7c8d9e0f job.py
  firesteel run --rest job.py                      http://localhost:8081/jobs/overview while it runs
  firesteel run --pyflink job.py                   `import pyflink` gives Firesteel
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "run",
        help="run a program",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("program", metavar="job.py", help="the program to run")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="arguments of the program")
    parser.add_argument("--pyflink", action="store_true", help="run a program written for PyFlink, unchanged")
    parser.add_argument(
        "-s",
        "--from-savepoint",
        metavar="PATH",
        help="start from the state of a savepoint, or of a checkpoint that was kept",
    )
    parser.add_argument(
        "-n",
        "--allow-non-restored-state",
        action="store_true",
        help="start although some of that state belongs to operators that the program no longer has",
    )
    parser.add_argument(
        "--rest",
        action="store_true",
        help="serve the REST API to this machine while the program runs, on rest.port if that is set, else on port "
        f"{DEFAULT_REST_PORT}",
    )
    add_settings(parser)
    parser.set_defaults(handler=_run)


def _run(parsed: argparse.Namespace) -> int:
    with with_settings(settings_from(parsed)):
        run_program(parsed.program, parsed.arguments, pyflink=parsed.pyflink, debug=parsed.debug)
    return 0
