"""The table of options as a documentation page."""

from __future__ import annotations

from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.options.flink import PREFIX_RULES
from firesteel.common.options.flink_table import FLINK_VERSION, flink_keys
from firesteel.common.options.lookup import OPTIONS

__all__ = ["render_page"]

_INTRODUCTION = """# Configuration

<!-- Written by `python -m firesteel.common.options`: change the table in firesteel/common/options/. -->

Options are set on a `Configuration`, which is given to
`StreamExecutionEnvironment.get_execution_environment()`:

```python
from firesteel.common import Configuration

configuration = Configuration()
configuration.set_string("execution.checkpointing.interval", "10 s")
```

in a file (`Configuration.from_file("config.yaml")`), which is YAML with dotted or nested keys, or, for a program
that stays as it is, in the environment variable `FIRESTEEL_PROPERTIES`, which is written like a file and gives way to
what the program sets itself:

```
FIRESTEEL_PROPERTIES="execution.target: in-process" python examples/01_adults.py
```

Keys have the names that Flink gives them; keys of Firesteel's own begin with `firesteel.`. A key that begins with
`spark.` goes to Spark unchanged. Any other key is your own, and nothing looks at it but your program; if it is nearly
one of the keys below, a warning asks whether that was meant. Durations take a unit (`500 ms`, `10 s`, `1 min`, or
ISO's `PT10S`), memory sizes too (`64 mb`). A map may also be written as a key for each of its pairs
(`pipeline.global-job-parameters.city: Bergen`).

Older keys of Flink work as the current ones do; where both are set, the current one counts.
"""

_WITHOUT_MEANING = """## Keys of Flink without meaning here

Firesteel knows all {count} keys of Flink {version}, so that a Flink configuration can be taken over as it is. Setting
one of these has no effect and warns once, with the reason.

| keys | why they have no meaning |
| --- | --- |
"""


def render_page() -> str:
    """The page as Markdown text."""
    used = [option for option in OPTIONS.values() if option.no_meaning is None]
    parts = [_INTRODUCTION]
    for group in dict.fromkeys(option.group for option in used):
        rows = "\n".join(_row(option) for option in used if option.group == group)
        parts.append(f"## {group}\n\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n{rows}\n")
    introduction = _WITHOUT_MEANING.format(count=len(flink_keys()), version=FLINK_VERSION)
    rows = "\n".join(f"| {', '.join(keys)} | {_cell(reason)} |" for reason, keys in _without_meaning().items())
    parts.append(f"{introduction}{rows}\n")
    return "\n".join(parts)


def _without_meaning() -> dict[str, list[str]]:
    """The keys and families of keys that have no meaning, by the reason."""
    keys: dict[str, list[str]] = {}
    for option in OPTIONS.values():
        if option.no_meaning is not None:
            keys.setdefault(option.no_meaning, []).append(f"`{option.key}`")
    for rule in PREFIX_RULES:
        whole = rule.prefix in flink_keys()
        keys.setdefault(rule.reason, []).append(f"`{rule.prefix}`" if whole else f"`{rule.prefix}*`")
    return keys


def _row(option: ConfigOption[Any]) -> str:
    default = "none" if option.default is None else f"`{option.value_type.render(option.default)}`"
    if default == "``":
        default = "empty"
    description = option.description
    if option.aliases:
        description += " Older: " + ", ".join(f"`{alias}`" for alias in option.aliases) + "."
    kind = getattr(option.value_type, "words", None)
    shown = option.value_type.name if kind is None else " or ".join(f"`{word}`" for word in kind)
    return f"| `{option.key}` | {_cell(shown)} | {_cell(default)} | {_cell(description)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
