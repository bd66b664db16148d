"""``firesteel explain``: show what a program would run."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from firesteel.cli.program import run_program
from firesteel.cli.settings import add_settings, settings_from, with_settings
from firesteel.common import Configuration
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.execution.spark.session import parallelism_before_start
from firesteel.model.sink import DriverSink
from firesteel.plan.executor import Executor, substitute_executor
from firesteel.plan.explain import execution_plan_json, explain_text
from firesteel.plan.job_plan import JobPlan
from firesteel.plan.picture import plan_html, plan_svg

__all__ = ["add_command"]

_FORMS: dict[str, Callable[[JobPlan], str]] = {
    "text": lambda plan: explain_text(plan) + "\n",
    "json": lambda plan: execution_plan_json(plan) + "\n",
    "svg": plan_svg,
    "html": plan_html,
}

_DESCRIPTION = """\
Show what a program would run: its operators, the chains they are joined to, the levels (each a stage of Spark) and the
shuffles between them. The program runs up to the point where it would start its first job, and no further. What it
prints until then goes to standard error.
"""
_EPILOG = """\
examples:
  firesteel explain job.py
  firesteel explain job.py --date 2026-01-01        what follows job.py goes to the program, but for -f and -o
  firesteel explain job.py -o plan.html             a page with a picture; .svg, .json and .txt work too
  firesteel explain --format json job.py            as Flink's get_execution_plan() shows it
  firesteel explain -p 8 job.py                     with another parallelism
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "explain",
        help="show what a program would run",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("program", metavar="job.py", help="the program to look at")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="arguments of the program")
    _add_output_options(parser)
    parser.add_argument("--pyflink", action="store_true", help="the program was written for PyFlink")
    add_settings(parser)
    parser.set_defaults(handler=_explain)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--format", choices=tuple(_FORMS), help="text unless the file's name says otherwise")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")


def _take_output_options(parsed: argparse.Namespace) -> None:
    """Take -f and -o also from behind the program's name, up to a ``--``: one thinks of them last."""
    parser = argparse.ArgumentParser(prog="firesteel explain", add_help=False, allow_abbrev=False)
    _add_output_options(parser)
    separator = parsed.arguments.index("--") if "--" in parsed.arguments else len(parsed.arguments)
    _, rest = parser.parse_known_args(parsed.arguments[:separator], parsed)
    parsed.arguments = rest + parsed.arguments[separator + 1 :]


def _explain(parsed: argparse.Namespace) -> int:
    _take_output_options(parsed)
    form = parsed.format or _form_of(parsed.output)
    with with_settings(settings_from(parsed)):
        plan = _plan_of(parsed)
    text = _FORMS[form](plan)
    if parsed.output is None:
        sys.stdout.write(text)
        return 0
    try:
        with open(parsed.output, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(f"--output: {parsed.output} cannot be written: {error.strerror}.") from error
    return 0


def _form_of(output: str | None) -> str:
    """The form that the name of the file asks for."""
    suffix = os.path.splitext(output or "")[1].lower().lstrip(".")
    return suffix if suffix in _FORMS else "text"


class _PlanReached(BaseException):
    """The program has come to its first job. Not an Exception: programs that catch those must not catch this."""

    def __init__(self, plan: JobPlan) -> None:
        self.plan = plan


class _PlanTaker(Executor):
    """Runs nothing: hands the plan over and stops the program."""

    def default_parallelism(self, configuration: Configuration) -> int | None:
        """What the settings say: no cluster is asked."""
        return parallelism_before_start(configuration)

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> NoReturn:
        raise _PlanReached(plan)


def _plan_of(parsed: argparse.Namespace) -> JobPlan:
    try:
        # What the program prints would stand in the middle of the JSON.
        with substitute_executor(_PlanTaker()), contextlib.redirect_stdout(sys.stderr):
            run_program(parsed.program, parsed.arguments, pyflink=parsed.pyflink, debug=parsed.debug)
    except _PlanReached as reached:
        return reached.plan
    raise ProgramError(
        f"{parsed.program} has ended without running a job, so there is nothing to show. "
        "Does it call env.execute(), also with these arguments?"
    )
