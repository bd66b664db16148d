"""Values as JSON, as Flink writes them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from firesteel.common.java_text import double_text

__all__ = ["RawJson", "json_text", "quoted"]


class RawJson(str):
    """A text that is JSON already, and is written as it is."""


def quoted(text: str) -> str:
    """A text in JSON's quotes; letters beyond ASCII stay as they are."""
    return json.dumps(text, ensure_ascii=False)


def json_text(value: Any) -> str:
    """A value of plain Python types as JSON, without blanks."""
    if isinstance(value, RawJson):
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(str(key))}:{json_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(json_text, value)) + "]"
    return str(value)
