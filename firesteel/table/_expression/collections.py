"""Methods of expressions that are arrays, maps, rows, JSON or bitmaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table._expression.base import ExpressionBase, symbol
from firesteel.table._expression.options import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from firesteel.table.tree import Apply, TypeNode
from firesteel.table.types import DataType, DataTypes

if TYPE_CHECKING:
    from firesteel.table.expression import Expression

__all__ = ["CollectionExpressions"]


class CollectionExpressions(ExpressionBase):
    """Functions of arrays, maps, rows, JSON and bitmaps."""

    @property
    def cardinality(self) -> Expression:
        """How many elements or entries there are."""
        return self._apply("CARDINALITY")

    @property
    def element(self) -> Expression:
        """The only element of an array."""
        return self._apply("ELEMENT")

    @property
    def map_entries(self) -> Expression:
        """Keys and values, as an array of rows."""
        return self._apply("MAP_ENTRIES")

    @property
    def map_keys(self) -> Expression:
        """The keys, as an array."""
        return self._apply("MAP_KEYS")

    @property
    def map_values(self) -> Expression:
        """The values, as an array."""
        return self._apply("MAP_VALUES")

    @property
    def flatten(self) -> Expression:
        """Each field of a row as a column of its own."""
        return self._apply("FLATTEN")

    def at(self, index: Any) -> Expression:
        """The element of an array at a position from 1, or the value of a key."""
        return self._apply("ITEM", index)

    def array_append(self, addition: Any) -> Expression:
        """With an element at the end."""
        return self._apply("ARRAY_APPEND", addition)

    def array_prepend(self, addition: Any) -> Expression:
        """With an element at the beginning."""
        return self._apply("ARRAY_PREPEND", addition)

    def array_contains(self, needle: Any) -> Expression:
        """Whether a value is among the elements."""
        return self._apply("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression:
        """Each element once."""
        return self._apply("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression:
        """Where a value is, from 1; 0 if nowhere."""
        return self._apply("ARRAY_POSITION", needle)

    def array_remove(self, needle: Any) -> Expression:
        """Without the elements that are equal to a value."""
        return self._apply("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression:
        """Backwards."""
        return self._apply("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression:
        """From one position to another; negative ones count from the end."""
        return self._apply_given("ARRAY_SLICE", start_offset, end_offset)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression:
        """In order."""
        return self._apply_given("ARRAY_SORT", ascending_order, null_first)

    def array_union(self, array: Any) -> Expression:
        """The elements of both, each once."""
        return self._apply("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression:
        """With the elements of others behind."""
        return self._apply("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Expression:
        """The largest element."""
        return self._apply("ARRAY_MAX")

    def array_min(self) -> Expression:
        """The smallest element."""
        return self._apply("ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression:
        """The elements as one text."""
        return self._apply_given("ARRAY_JOIN", delimiter, null_replacement)

    def array_except(self, array: Any) -> Expression:
        """Without the elements of another."""
        return self._apply("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression:
        """Only the elements that another has too."""
        return self._apply("ARRAY_INTERSECT", array)

    def map_union(self, *maps: Any) -> Expression:
        """With the entries of others; the last one wins."""
        return self._apply("MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Expression:
        """With some attributes changed: names and values in turn."""
        return self._apply("OBJECT_UPDATE", *kv)

    def bitmap_and(self, bitmap2: Any) -> Expression:
        """Numbers that both have."""
        return self._apply("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression:
        """Numbers that the other does not have."""
        return self._apply("BITMAP_ANDNOT", bitmap2)

    def bitmap_or(self, bitmap2: Any) -> Expression:
        """Numbers of either."""
        return self._apply("BITMAP_OR", bitmap2)

    def bitmap_xor(self, bitmap2: Any) -> Expression:
        """Numbers of exactly one of both."""
        return self._apply("BITMAP_XOR", bitmap2)

    def bitmap_build(self) -> Expression:
        """The numbers of an array as a bitmap."""
        return self._apply("BITMAP_BUILD")

    def bitmap_cardinality(self) -> Expression:
        """How many numbers there are."""
        return self._apply("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression:
        """The bitmap that was written as bytes."""
        return self._apply("BITMAP_FROM_BYTES")

    def bitmap_to_array(self) -> Expression:
        """The numbers in order."""
        return self._apply("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression:
        """As bytes, in the format of Roaring bitmaps."""
        return self._apply("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression:
        """As a text: ``{1,2,3}``."""
        return self._apply("BITMAP_TO_STRING")

    def bitmap_and_agg(self) -> Expression:
        """Aggregate: what all bitmaps have."""
        return self._apply("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression:
        """Aggregate: how many numbers all bitmaps have."""
        return self._apply("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build_agg(self) -> Expression:
        """Aggregate: all numbers as a bitmap."""
        return self._apply("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression:
        """Aggregate: how many different numbers there are."""
        return self._apply("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Expression:
        """Aggregate: what any bitmap has."""
        return self._apply("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression:
        """Aggregate: how many numbers any bitmap has."""
        return self._apply("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Expression:
        """Aggregate: what an odd number of bitmaps have."""
        return self._apply("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression:
        """Aggregate: how many numbers an odd number of bitmaps have."""
        return self._apply("BITMAP_XOR_CARDINALITY_AGG")

    def get(self, name_or_index: str | int) -> Expression:
        """The field of a row, by its name or its position."""
        return self._new(Apply("GET", (self.node, symbol(name_or_index))))

    def is_json(self, json_type: JsonType | None = None) -> Expression:
        """Whether the text is JSON, or JSON of a kind."""
        return self._apply(f"IS JSON {(json_type or JsonType.VALUE).name}")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression:
        """Whether a path leads to something in the JSON."""
        behavior = [] if on_error is None else [symbol(on_error.name)]
        return self._apply("JSON_EXISTS", path, *behavior)

    def json_value(
        self,
        path: str,
        returning_type: DataType = DataTypes.STRING(),  # noqa: B008
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression:
        """The scalar that a path leads to in the JSON."""
        behaviors = (symbol(on_empty.name), default_on_empty, symbol(on_error.name), default_on_error)
        return self._apply("JSON_VALUE", path, TypeNode(returning_type), *behaviors)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression:
        """The object or array that a path leads to in the JSON, as JSON."""
        options = (symbol(wrapping_behavior.name), symbol(on_empty.name), symbol(on_error.name))
        return self._apply("JSON_QUERY", path, TypeNode(DataTypes.STRING()), *options)
