"""The table of options as a documentation page."""

from __future__ import annotations

from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.options.flink import PREFIX_RULES
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

in a file (`Configuration.from_file("config.yaml")`) with one `key: value` on a line or nested keys, or, for a program
that stays as it is, in the environment variable `FIRESTEEL_PROPERTIES`, which is written like a file and gives way to
what the program sets itself:

```
FIRESTEEL_PROPERTIES="execution.target: in-process" python examples/01_adults.py
```

Keys have the names that Flink gives them; keys of Firesteel's own begin with `firesteel.`. A key that begins with
`spark.` goes to Spark unchanged. Any other unknown key is an error (in a file, a warning). Durations take a
unit (`500 ms`, `10 s`, `1 min`), memory sizes too (`64 mb`).
"""

_WITHOUT_MEANING = """## Keys of Flink without meaning here

Firesteel knows these keys, so that a Flink configuration can be taken over as it is. Setting one has no
effect and warns once, with the reason.

| key | why it has no meaning |
| --- | --- |
"""


def render_page() -> str:
    """The page as Markdown text."""
    used = [option for option in OPTIONS.values() if option.no_meaning is None]
    parts = [_INTRODUCTION]
    for group in dict.fromkeys(option.group for option in used):
        rows = "\n".join(_row(option) for option in used if option.group == group)
        parts.append(f"## {group}\n\n| key | type | default | meaning |\n| --- | --- | --- | --- |\n{rows}\n")
    single = {option.key: option.no_meaning for option in OPTIONS.values() if option.no_meaning is not None}
    several = {f"{rule.prefix}*": rule.reason for rule in PREFIX_RULES}
    rows = "\n".join(f"| `{key}` | {_cell(str(reason))} |" for key, reason in sorted({**single, **several}.items()))
    parts.append(f"{_WITHOUT_MEANING}{rows}\n")
    return "\n".join(parts)


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
