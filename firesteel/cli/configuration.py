"""``firesteel config``: the table of options."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.options import OPTIONS
from firesteel.common.options.page import render_page
from firesteel.errors import ConfigurationError

__all__ = ["add_command"]

_DESCRIPTION = "List the options that can be set with --conf, in a file, in FIRESTEEL_PROPERTIES or by the program."
_EPILOG = """\
examples:
  firesteel config                       all options
  firesteel config checkpoint            those whose key or description has the word
  firesteel config --format markdown     the page docs/configuration.md
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "config",
        help="list the configuration options",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("word", nargs="?", help="only options that have this word in their key or description")
    parser.add_argument("-f", "--format", choices=("text", "markdown"), default="text")
    parser.set_defaults(handler=_config)


def _config(parsed: argparse.Namespace) -> int:
    if parsed.format == "markdown":
        print(render_page(), end="")
        return 0
    word = (parsed.word or "").lower()
    used = [option for option in OPTIONS.values() if option.no_meaning is None and _matches(option, word)]
    if not used:
        raise ConfigurationError(
            f"no option has {parsed.word!r} in its key or description. `firesteel config` lists all."
        )
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    for group in dict.fromkeys(option.group for option in used):
        print(f"{group}\n")
        for option in used:
            if option.group == group:
                print("\n".join(_lines(option, width)))
        print()
    return 0


def _matches(option: ConfigOption[Any], word: str) -> bool:
    return any(word in text.lower() for text in (option.key, option.description, *option.aliases))


def _lines(option: ConfigOption[Any], width: int) -> Iterator[str]:
    default = "none" if option.default is None else option.value_type.render(option.default) or "empty"
    words = getattr(option.value_type, "words", None)
    kind = " | ".join(words) if words else option.value_type.name
    yield f"  {option.key}"
    yield from textwrap.wrap(
        f"{option.description} ({kind}; default: {default})", width, initial_indent="      ", subsequent_indent="      "
    )
