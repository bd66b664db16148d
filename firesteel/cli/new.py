"""``firesteel new``: a project to begin with: a program, its tests, settings and a Makefile."""

from __future__ import annotations

import argparse
import os
import re
from importlib import resources
from typing import Any

from firesteel.errors import ConfigurationError

__all__ = ["add_command"]

_DESCRIPTION = """\
Make a directory with a program, tests of it that pass at once (of its function by the harness, and of the whole in one
process), settings and a Makefile.
"""
_EPILOG = """\
examples:
  firesteel new alarms && cd alarms && make test
"""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_FILES = {
    "job.py.txt": "job.py",
    "test_job.py.txt": "test_job.py",
    "config.yaml.txt": "config.yaml",
    "Makefile.txt": "Makefile",
    "README.md.txt": "README.md",
    "gitignore.txt": ".gitignore",
    "requirements.txt.txt": "requirements.txt",
}


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "new",
        help="make a project to begin with",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", metavar="DIR", help="the directory to make; its name is the project's")
    parser.set_defaults(handler=_new)


def _new(parsed: argparse.Namespace) -> int:
    name = os.path.basename(os.path.normpath(parsed.directory))
    if _NAME.fullmatch(name) is None:
        raise ConfigurationError(f"{name!r} is no name for a project: letters, digits, '-', '_' and '.' make one")
    if os.path.exists(parsed.directory) and (not os.path.isdir(parsed.directory) or os.listdir(parsed.directory)):
        raise ConfigurationError(f"{parsed.directory} is there already, and nothing in it is overwritten")
    os.makedirs(parsed.directory, exist_ok=True)
    templates = resources.files("firesteel.cli").joinpath("project")
    for template, file in _FILES.items():
        text = templates.joinpath(template).read_text(encoding="utf-8").replace("NAME", name)
        with open(os.path.join(parsed.directory, file), "w", encoding="utf-8") as written:
            written.write(text)
    print(f"{parsed.directory} is a project now: cd {parsed.directory} && make test")
    return 0
