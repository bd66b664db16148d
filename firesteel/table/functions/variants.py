"""VARIANT: values that carry their own type, read from JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from firesteel.table.functions.json_text import json_text

__all__ = ["Variant", "parse_variant"]


@dataclass(frozen=True, eq=False)
class Variant:
    """A semi-structured value: None, a truth value, a number, a text, a list or a dict of such."""

    value: Any

    def json(self) -> str:
        """The value as JSON."""
        return json_text(self.value)

    def item(self, key: str | int) -> Variant | None:
        """The field of an object, or the element of an array (from 1 on); None where there is none."""
        if isinstance(key, str):
            found = self.value.get(key, _NOTHING) if isinstance(self.value, dict) else _NOTHING
        else:
            inside = isinstance(self.value, list) and 1 <= key <= len(self.value)
            found = self.value[key - 1] if inside else _NOTHING
        return None if found is _NOTHING else Variant(found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variant) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.json())


_NOTHING = object()


def parse_variant(text: str, allow_duplicate_keys: bool = False) -> Variant:
    """Read JSON; ValueError if it is none, or if an object has a key twice and that is not allowed."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) < len(items) and not allow_duplicate_keys:
            raise ValueError("an object has a key twice")
        return dict(sorted(result.items()))

    decoder = json.JSONDecoder(parse_float=_number, object_pairs_hook=pairs, parse_constant=_no_constant)
    return Variant(decoder.decode(text))


def _number(text: str) -> Decimal | float:
    """A number with a fraction, exactly and without zeros at its end; one with an exponent as a DOUBLE."""
    return float(text) if "e" in text.lower() else Decimal(text.rstrip("0").rstrip("."))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
