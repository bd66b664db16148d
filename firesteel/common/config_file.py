"""Reading the configuration files that Flink uses, without a YAML library.

Understood are ``key: value`` lines, keys nested by indentation, lists of plain items (``- item`` below the
key), comments and quotes: what ``flink-conf.yaml`` and ``config.yaml`` are made of. Anything else is an error
that names the line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from firesteel.common.config_options import ListValue, unquote
from firesteel.errors import ConfigurationError

__all__ = ["parse_config_text", "read_config_file"]

_ENTRY = re.compile(r"(?P<key>'[^']+'|\"[^\"]+\"|[^\s:#'\"][^:#]*?)\s*:(?:\s+(?P<value>.*))?$")
_COMMENT = re.compile(r"(^|\s)#.*$")


def read_config_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """The settings in a file, by their full dotted keys."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ConfigurationError(
            f"the configuration file {os.fspath(path)} cannot be read: {error.strerror}. Check the path."
        ) from error
    return parse_config_text(text, os.fspath(path))


def parse_config_text(text: str, name: str = "configuration") -> dict[str, str]:
    """The settings in the text of a file, by their full dotted keys; `name` stands in error messages."""
    settings: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    open_keys: list[tuple[int, str]] = []  # the keys that the current line may be nested in, with their indents
    for number, indent, content in _lines(text):
        if content.startswith("- ") and open_keys:
            lists.setdefault(open_keys[-1][1], []).append(unquote(content[2:].strip()))
            continue
        entry = _ENTRY.match(content)
        if entry is None:
            raise ConfigurationError(f"{name}, line {number}: expected 'key: value', got {content!r}.")
        while open_keys and open_keys[-1][0] >= indent:
            open_keys.pop()
        key = ".".join([*([open_keys[-1][1]] if open_keys else []), unquote(entry["key"])])
        value = (entry["value"] or "").strip()
        if value:
            settings[key] = unquote(value)
        else:
            open_keys.append((indent, key))
    render = ListValue().render
    return settings | {key: render(items) for key, items in lists.items()}


def _lines(text: str) -> Iterator[tuple[int, int, str]]:
    """The lines that say something: number, indentation, and content without comment."""
    for number, line in enumerate(text.splitlines(), 1):
        content = _without_comment(line).rstrip()
        if content.strip() and content.strip() != "---":
            yield number, len(content) - len(content.lstrip()), content.strip()


def _without_comment(line: str) -> str:
    """The line up to a comment; a # inside a quoted value begins none."""
    value = line.partition(":")[2].strip()
    if value[:1] in ("'", '"'):
        end = line.rfind(value[0])
        return line[: end + 1] + _COMMENT.sub("", line[end + 1 :])
    return _COMMENT.sub("", line)
