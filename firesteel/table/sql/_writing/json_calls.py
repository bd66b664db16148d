"""JSON functions, as text."""

from __future__ import annotations

from firesteel.table.sql._writing.expressions import order_by
from firesteel.table.sql._writing.registry import words, write, write_all, write_name, writes
from firesteel.table.sql.nodes.expressions import JsonArray, JsonBehavior, JsonObject, JsonPair, JsonPassing, JsonRead

_WRAPPERS = {
    "WITHOUT": "WITHOUT ARRAY WRAPPER",
    "CONDITIONAL": "WITH CONDITIONAL ARRAY WRAPPER",
    "UNCONDITIONAL": "WITH UNCONDITIONAL ARRAY WRAPPER",
}


@writes(JsonBehavior)
def _behavior(node: JsonBehavior) -> str:
    default = None if node.default is None else write(node.default)
    return words(node.action, default, "ON", node.event)


@writes(JsonPassing)
def _passing(node: JsonPassing) -> str:
    return f"{write(node.value)} AS {write_name(node.name)}"


@writes(JsonRead)
def _read(node: JsonRead) -> str:
    passing = f"PASSING {write_all(node.passing)}" if node.passing else None
    returning = None if node.returning is None else f"RETURNING {write(node.returning)}"
    wrapper = None if node.wrapper is None else _WRAPPERS[node.wrapper]
    behaviors = [write(each) for each in node.behaviors]
    common = f"{write(node.document)}, {write(node.path)}"
    return f"{node.function}({words(common, passing, returning, wrapper, *behaviors)})"


@writes(JsonPair)
def _pair(node: JsonPair) -> str:
    return f"KEY {write(node.key)} VALUE {write(node.value)}"


def _on_null(on_null: str | None) -> str | None:
    return None if on_null is None else f"{on_null} ON NULL"


@writes(JsonObject)
def _object(node: JsonObject) -> str:
    return f"{node.function}({words(write_all(node.pairs), _on_null(node.on_null))})"


@writes(JsonArray)
def _array(node: JsonArray) -> str:
    inside = words(write_all(node.values), order_by(node.order_by), _on_null(node.on_null))
    group = f"WITHIN GROUP ({order_by(node.within_group)})" if node.within_group else None
    return words(f"{node.function}({inside})", group)
