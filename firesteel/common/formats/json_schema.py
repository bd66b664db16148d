"""Row types out of JSON Schemas."""

from __future__ import annotations

import json
from typing import Any

from firesteel.common.formats.text_values import BYTES
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation, Types
from firesteel.errors import ConfigurationError, UnsupportedError

__all__ = ["row_type_of_schema"]

_SIMPLE: dict[str, TypeInformation] = {
    "boolean": Types.BOOLEAN(),
    "number": Types.BIG_DEC(),
    "integer": Types.BIG_INT(),
    "null": Types.PICKLED_BYTE_ARRAY(),
}
_TEXT_FORMATS: dict[str, TypeInformation] = {
    "date-time": Types.SQL_TIMESTAMP(),
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
}
_UNSUPPORTED = ("allOf", "anyOf", "not", "additionalItems", "patternProperties", "dependencies")


def row_type_of_schema(json_schema: str) -> RowTypeInfo:
    """The row type of a JSON Schema, whose top must be an object.

    :raises ConfigurationError: The text is no JSON Schema of an object.
    :raises UnsupportedError: It uses what has no row type.
    """
    try:
        root = json.loads(json_schema)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"a JSON schema must be JSON text: {error}. Got {json_schema!r:.120}") from error
    kind = _Schema(root).type_of(root, "the schema", ())
    if not isinstance(kind, RowTypeInfo):
        raise ConfigurationError(f"the JSON schema of a message describes an object, got one of {kind}")
    return kind


class _Schema:
    def __init__(self, root: Any) -> None:
        self._root = root

    def type_of(self, node: Any, where: str, above: tuple[str, ...]) -> TypeInformation:
        """The type that a part of the schema describes.

        :param above: The references that led here, to find one that leads back to itself.
        """
        if not isinstance(node, dict):
            raise ConfigurationError(f"{where} of a JSON schema must be an object, got {node!r:.80}")
        if found := [word for word in _UNSUPPORTED if word in node]:
            raise UnsupportedError(f"{where} uses {found[0]!r}, which has no row type. Declare the fields with Types.")
        if "$ref" in node:
            return self._reference(node["$ref"], where, above)
        if "oneOf" in node:
            return self._one_of(node["oneOf"], where, above)
        names = node.get("type", "object" if "properties" in node else None)
        if isinstance(names, list):
            return self._one_of([{**node, "type": name} for name in names], where, above)
        if names == "object":
            return self._object(node, where, above)
        if names == "array":
            return self._array(node, where, above)
        if names == "string":
            if node.get("contentEncoding") == "base64":
                return BYTES
            return _TEXT_FORMATS.get(node.get("format", ""), Types.STRING())
        if names not in _SIMPLE:
            raise UnsupportedError(f"{where} has type {names!r}, which has no row type. Declare the fields with Types.")
        return _SIMPLE[names]

    def _reference(self, name: str, where: str, above: tuple[str, ...]) -> TypeInformation:
        if name in above:
            raise UnsupportedError(f"{where} refers to itself by {name!r}; a row type cannot hold itself.")
        if not name.startswith("#"):
            raise UnsupportedError(f"{where} refers to {name!r} outside the schema. Put it into the schema.")
        node = self._root
        for part in filter(None, name[1:].split("/")):
            if not isinstance(node, dict) or part not in node:
                raise ConfigurationError(f"{where} refers to {name!r}, which the JSON schema does not have")
            node = node[part]
        return self.type_of(node, where, (*above, name))

    def _one_of(self, choices: Any, where: str, above: tuple[str, ...]) -> TypeInformation:
        """Every field may be None, so a choice between null and one more is that one."""
        kinds = [choice for choice in choices if not (isinstance(choice, dict) and choice.get("type") == "null")]
        if len(kinds) != 1 or len(choices) > 2:
            raise UnsupportedError(f"{where} has a choice of types, which has no row type; only null and one more has.")
        return self.type_of(kinds[0], where, above)

    def _object(self, node: dict[str, Any], where: str, above: tuple[str, ...]) -> TypeInformation:
        fields = node.get("properties", {})
        return Types.ROW_NAMED(
            list(fields), [self.type_of(part, f"{where}.{name}", above) for name, part in fields.items()]
        )

    def _array(self, node: dict[str, Any], where: str, above: tuple[str, ...]) -> TypeInformation:
        items = node.get("items")
        if items is None:
            raise ConfigurationError(f"{where} is an array without 'items'. Say what it holds.")
        if isinstance(items, list):
            return Types.TUPLE([self.type_of(part, f"{where}[{index}]", above) for index, part in enumerate(items)])
        return Types.OBJECT_ARRAY(self.type_of(items, f"{where}[]", above))
