"""Reading the configuration files that Flink uses: YAML, with keys that are nested, dotted, or both."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from firesteel.common.config_options import ListValue, MapValue
from firesteel.errors import ConfigurationError

if TYPE_CHECKING:
    import yaml

__all__ = ["parse_config_text", "read_config_file"]

_NULL = "tag:yaml.org,2002:null"


def read_config_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """The settings in a file, by their full dotted keys."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise ConfigurationError(
            f"the configuration file {os.fspath(path)} cannot be read: {error.strerror}. Check the path."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"the configuration file {os.fspath(path)} is not written in UTF-8.") from error
    return parse_config_text(text, os.fspath(path))


def parse_config_text(text: str, name: str = "configuration") -> dict[str, str]:
    """The settings in the text of a file, by their full dotted keys; `name` stands in error messages."""
    if not text.strip():
        return {}
    import yaml  # when it is used: workers never do, and may not have it

    try:
        # Nodes, and not what they stand for: a value is text here, whose type its option knows.
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ConfigurationError(_not_yaml(name, error)) from None
    settings: dict[str, str] = {}
    if root is None or root.tag == _NULL:
        return settings
    for key, value, line in _entries(root, "", name):
        if key in settings:
            raise ConfigurationError(f"{name}, line {line}: {key} is set twice. Leave one of them out.")
        settings[key] = value
    return settings


def _not_yaml(name: str, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    line = "" if mark is None else f", line {mark.line + 1}"
    return (
        f"{name}{line}: this is not YAML ({problem}). Settings are written 'key: value'; quote values that hold ': '."
    )


def _entries(node: yaml.Node, prefix: str, name: str) -> Iterator[tuple[str, str, int]]:
    """The settings below a node: full key, value and line."""
    import yaml

    line = node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode):
        got = node.value if isinstance(node, yaml.ScalarNode) else "a list"
        raise ConfigurationError(f"{name}, line {line}: expected 'key: value', got {got!r}.")
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            raise ConfigurationError(f"{name}, line {line}: a key must be text.")
        key = prefix + key_node.value
        if isinstance(value_node, yaml.MappingNode):
            yield from _entries(value_node, f"{key}.", name)
        else:
            yield key, _value(key, value_node, name), key_node.start_mark.line + 1


def _value(key: str, node: yaml.Node, name: str) -> str:
    """A value as text."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        if node.tag == _NULL:
            line = node.start_mark.line + 1
            raise ConfigurationError(f"{name}, line {line}: {key} has no value. Write '' for empty text.")
        return str(node.value)
    return ListValue().render([_item(key, item, name) for item in node.value])


def _item(key: str, node: yaml.Node, name: str) -> str:
    """An item of a list as text; a mapping is written as a map."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        return MapValue().render({part.value: _value(key, item, name) for part, item in node.value})
    return _value(key, node, name)
