"""The command line as a whole: its commands, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import firesteel
from firesteel.cli import completion, configuration, doctor, events, explain, history, new, run, savepoint
from firesteel.cli.program import ProgramFailedError
from firesteel.errors import ConfigurationError, FiresteelError

__all__ = ["FAILED", "INTERRUPTED", "OK", "WRONG_USE", "build_parser", "main"]

OK = 0
FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130

_DESCRIPTION = "Flink's stateful stream processing in Python, on Apache Spark."
_EPILOG = """\
examples:
  firesteel run job.py                         run a program on Spark, on all cores of this machine
  firesteel run --in-process job.py            run it in this process, where breakpoints stop
  firesteel run --pyflink job.py               run a program written for PyFlink as it is
  firesteel explain job.py -o plan.html        draw what would run
  firesteel savepoint list /data/savepoints    what could be started from
  firesteel events --follow /data/checkpoints  what happens to the job that runs there
  firesteel history /data/checkpoints          jobs of the past, over REST
  firesteel new alarms                         a project to begin with, whose tests pass
  firesteel doctor                             check Java, Spark, Python and their versions

exit codes:
  0    all went well
  1    the program or its job failed, or the doctor found something wrong
  2    the command line or a setting is wrong; nothing was run
  130  ended with Ctrl-C
  A program that calls sys.exit() chooses its own.

`firesteel COMMAND --help` tells more. Completion for your shell: `firesteel completion --help`.
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line. Each command is a module that adds its own part."""
    parser = argparse.ArgumentParser(
        prog="firesteel",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"firesteel {firesteel.__version__}")
    parser.add_argument("--debug", action="store_true", help="show errors with their whole traceback")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for module in (run, explain, savepoint, events, history, doctor, configuration, completion, new):
        module.add_command(commands)
    version = commands.add_parser("version", help="print the version", description="Print the version of Firesteel.")
    version.set_defaults(handler=_version)
    commands.choices["completion"].set_defaults(parser=parser)
    for command in commands.choices.values():  # after the command is where one thinks of it
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    :param arguments: What stands after ``firesteel``; those of this process if None.
    :return: The exit code, see ``firesteel --help``.
    """
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    handler = getattr(parsed, "handler", None)
    if handler is None:
        parser.print_help()
        return WRONG_USE
    if parsed.debug:
        code: int = handler(parsed)
        return code
    return _guarded(handler, parsed)


def _guarded(handler: object, parsed: argparse.Namespace) -> int:
    """Run a command; an error becomes a message and an exit code."""
    assert callable(handler)
    try:
        code: int = handler(parsed)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) has gone, which is its right. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except ProgramFailedError as error:
        error.show()
        return FAILED
    except ConfigurationError as error:
        _say(f"error: {error}")
        return WRONG_USE
    except FiresteelError as error:
        _say(f"error: {error}")
        return FAILED


def _say(text: str) -> None:
    print(f"firesteel: {text}", file=sys.stderr)


def _version(parsed: argparse.Namespace) -> int:
    print(f"firesteel {firesteel.__version__}")
    return OK
