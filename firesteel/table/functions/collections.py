"""Arrays, maps and rows: made, read and changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.table.functions.casting import text_function
from firesteel.table.functions.conditional import to_common
from firesteel.table.functions.definition import Call, Function, call_error, register
from firesteel.table.functions.signatures import (
    ANY,
    ARRAY,
    BOOLEAN,
    INTEGER,
    MAP,
    STRING,
    TEXT,
    Check,
    check_arguments,
    scalar,
)
from firesteel.table.functions.variants import Variant
from firesteel.table.types import (
    ArrayType,
    DataType,
    DataTypes,
    IntegralType,
    MapType,
    MultisetType,
    NullType,
    RowField,
    RowType,
    StructuredType,
    VariantType,
    can_cast_implicitly,
    common_type,
    is_text,
)

__all__ = ["element_key"]

INT = DataTypes.INT()


def element_key(value: Any) -> Any:
    """Something that can be looked up in a set in the place of a value: dicts cannot."""
    if isinstance(value, dict):
        return ("map", frozenset((element_key(key), element_key(item)) for key, item in value.items()))
    if isinstance(value, tuple):
        return tuple(map(element_key, value))
    return value


def _common(call: Call, types: list[DataType]) -> DataType:
    merged = common_type(types)
    if merged is None:
        raise call_error(call, f"{', '.join(str(each.nullable()) for each in types)} have no common type")
    return merged


# Constructors


def _infer_array(call: Call) -> DataType:
    if not call.arguments:
        raise call_error(call, "an array needs an element, so that its type is known")
    return ArrayType(_common(call, call.types)).not_null()


def _make_array(call: Call) -> Callable[..., Any]:
    result = call.result
    assert isinstance(result, ArrayType)
    casts = [to_common(each, result.element_type, call.session) for each in call.types]
    if not any(casts):
        return lambda *values: values
    return lambda *values: tuple(value if cast is None else cast(value) for cast, value in zip(casts, values))


def _infer_map(call: Call) -> DataType:
    if not call.arguments or len(call.arguments) % 2:
        raise call_error(call, "a map is made of keys and values in turn")
    return MapType(_common(call, call.types[::2]), _common(call, call.types[1::2])).not_null()


def _make_map(call: Call) -> Callable[..., Any]:
    result = call.result
    assert isinstance(result, MapType)
    kinds = [result.key_type, result.value_type]
    casts = [to_common(each, kinds[at % 2], call.session) for at, each in enumerate(call.types)]

    def build(*values: Any) -> dict[Any, Any]:
        typed = [value if cast is None else cast(value) for cast, value in zip(casts, values)]
        return dict(zip(typed[::2], typed[1::2]))

    return build


def _infer_row(call: Call) -> DataType:
    return RowType([RowField(f"EXPR${at}", each) for at, each in enumerate(call.types)]).not_null()


register(Function("ARRAY", _infer_array, _make_array, strict=False))
register(Function("MAP", _infer_map, _make_map, strict=False))
register(Function("ROW", _infer_row, lambda call: lambda *values: values, strict=False))


# Access


def _infer_at(call: Call) -> DataType:
    check_arguments(call, (ANY, ANY))
    container, key = call.types
    if isinstance(container, ArrayType):
        if not isinstance(key, (IntegralType, NullType)):
            raise call_error(call, "the position in an array is a whole number")
        return container.element_type.nullable()
    if isinstance(container, MapType):
        _common(call, [container.key_type, key])
        return container.value_type.nullable()
    if isinstance(container, VariantType) and (is_text(key) or isinstance(key, IntegralType)):
        return container.nullable()
    raise call_error(call, "only arrays, maps and variants have items")


def _make_at(call: Call) -> Callable[[Any, Any], Any]:
    container = call.types[0]
    if isinstance(container, MapType):
        cast = to_common(call.types[1], container.key_type, call.session)
        return lambda entries, key: entries.get(key if cast is None else cast(key))
    if isinstance(container, VariantType):
        return lambda variant, key: variant.item(key) if isinstance(variant, Variant) else None

    def element(items: tuple[Any, ...], position: int) -> Any:
        if position < 1:
            raise FiresteelError(f"the position in an array counts from 1, got {position}.")
        return items[position - 1] if position <= len(items) else None

    return element


register(Function("ITEM", _infer_at, _make_at, aliases=("AT",)))


def _infer_get(call: Call) -> DataType:
    container = call.types[0]
    if not isinstance(container, (RowType, StructuredType)):
        raise call_error(call, "only rows have fields")
    field = container.fields[_field_position(call, container)]
    return field.data_type.with_nullability(field.data_type.is_nullable or container.is_nullable)


def _field_position(call: Call, container: RowType | StructuredType) -> int:
    key = call.literal(1)
    names = container.field_names()
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    if key not in names:
        raise call_error(call, f"there is no field {key!r}; there are {', '.join(names)}")
    return names.index(key)


def _make_get(call: Call) -> Callable[[Any, Any], Any]:
    container = call.types[0]
    assert isinstance(container, (RowType, StructuredType))
    position = _field_position(call, container)
    return lambda row, _key: row[position]


register(Function("GET", _infer_get, _make_get))

# Objects


def _attributes(call: Call) -> list[tuple[str, DataType]]:
    """The names and types that follow the first argument, in turn; names are literals and differ."""
    if len(call.arguments) % 2 == 0:
        raise call_error(call, "takes names and values of attributes in turn")
    names = [call.literal(at) for at in range(1, len(call.arguments), 2)]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise call_error(call, f"the attribute {repeated[0]!r} is given twice")
    return list(zip(names, call.types[2::2]))


def _infer_object(call: Call) -> DataType:
    return StructuredType(call.literal(0), [RowField(name, kind) for name, kind in _attributes(call)])


def _infer_object_update(call: Call) -> DataType:
    updated = call.types[0]
    if not isinstance(updated, StructuredType):
        raise call_error(call, "only objects have attributes to change")
    changes = dict(_attributes(call))
    unknown = [name for name in changes if name not in updated.field_names()]
    if unknown:
        raise call_error(call, f"there is no attribute {unknown[0]!r}; there are {', '.join(updated.field_names())}")
    fields = [RowField(field.name, changes.get(field.name, field.data_type)) for field in updated.fields]
    return StructuredType(updated.class_name, fields, updated.is_nullable)


def _make_object_update(call: Call) -> Callable[..., Any]:
    updated = call.types[0]
    assert isinstance(updated, StructuredType)
    positions = [updated.field_names().index(name) for name, _ in _attributes(call)]

    def update(row: Any, *pairs: Any) -> Any:
        if row is None:
            return None
        values = list(row)
        for position, value in zip(positions, pairs[1::2]):
            values[position] = value
        return tuple(values)

    return update


register(Function("OBJECT_OF", _infer_object, lambda call: lambda _name, *pairs: pairs[1::2], strict=False))
register(Function("OBJECT_UPDATE", _infer_object_update, _make_object_update, strict=False))

_SIZED: Check = ("an array, map or multiset", lambda t: isinstance(t, (ArrayType, MapType, MultisetType)))


def _make_cardinality(call: Call) -> Callable[[Any], int]:
    if isinstance(call.types[0], MultisetType):
        return lambda entries: sum(entries.values())
    return len


scalar("CARDINALITY", (_SIZED,), lambda call: INT.with_nullability(call.nullable), make=_make_cardinality)


def _sole(items: tuple[Any, ...]) -> Any:
    if len(items) > 1:
        raise FiresteelError(f"ELEMENT: the array has {len(items)} elements, and should have one.")
    return items[0] if items else None


def _element_of(call: Call) -> DataType:
    container = call.types[0]
    assert isinstance(container, ArrayType)
    return container.element_type.nullable()


def _sole_type(call: Call) -> DataType:
    container = call.types[0]
    assert isinstance(container, ArrayType)
    return container.element_type.with_nullability(container.is_nullable or container.element_type.is_nullable)


scalar("ELEMENT", (ARRAY,), _sole_type, _sole)


# Functions of arrays


def _of_array(call: Call) -> DataType:
    return call.types[0]


def _with_element(call: Call) -> DataType:
    """The array's type; the second argument has to fit its elements, but may be NULL."""
    array, added = call.types
    assert isinstance(array, ArrayType)
    element = array.element_type
    if not can_cast_implicitly(added.nullable(), element.nullable()):
        raise call_error(call, f"{added.nullable()} does not fit elements of {element.nullable()}; CAST it")
    return ArrayType(element.with_nullability(element.is_nullable or added.is_nullable), call.nullable)


def _typed_elements(call: Call) -> Callable[[Any], Any]:
    """Casts the elements of an array argument to those of the result."""
    result = call.result
    assert isinstance(result, ArrayType)

    def casting(array: DataType) -> Callable[[Any], Any]:
        assert isinstance(array, ArrayType)
        cast = to_common(array.element_type, result.element_type, call.session)
        return lambda items: items if cast is None else tuple(map(cast, items))

    casts = [casting(each) if isinstance(each, ArrayType) else None for each in call.types]
    first = casts[0]
    assert first is not None
    return first


def _make_added(front: bool) -> Callable[[Call], Callable[..., Any]]:
    def make(call: Call) -> Callable[..., Any]:
        result = call.result
        assert isinstance(result, ArrayType)
        typed = _typed_elements(call)
        cast = to_common(call.types[1], result.element_type, call.session)

        def added(items: Any, value: Any) -> Any:
            if items is None:
                return None
            one = (value if cast is None else cast(value),)
            return one + typed(items) if front else typed(items) + one

        return added

    return make


def _register_added(name: str, front: bool) -> None:
    def infer(call: Call) -> DataType:
        check_arguments(call, (ARRAY, ANY))
        return _with_element(call)

    register(Function(name, infer, _make_added(front), strict=False))


_register_added("ARRAY_APPEND", front=False)
_register_added("ARRAY_PREPEND", front=True)


def _register_needle(name: str, result: Callable[[Call], DataType], function: Callable[[Any, Any], Any]) -> None:
    """A function of an array and a value that is cast to its elements; the value may be NULL."""

    def infer(call: Call) -> DataType:
        check_arguments(call, (ARRAY, ANY))
        array = call.types[0]
        assert isinstance(array, ArrayType)
        _common(call, [array.element_type, call.types[1]])
        return result(call)

    def make(call: Call) -> Callable[[Any, Any], Any]:
        array = call.types[0]
        assert isinstance(array, ArrayType)
        cast = to_common(call.types[1], array.element_type, call.session)
        return lambda items, needle: (
            None if items is None else function(items, needle if cast is None else cast(needle))
        )

    register(Function(name, infer, make, strict=False))


def _position(items: tuple[Any, ...], needle: Any) -> int | None:
    if needle is None:
        return None
    return next((at for at, item in enumerate(items, 1) if item == needle), 0)


_register_needle(
    "ARRAY_CONTAINS",
    lambda call: DataTypes.BOOLEAN().with_nullability(call.types[0].is_nullable),
    lambda items, needle: any(item is needle or item == needle for item in items),
)
_register_needle("ARRAY_POSITION", lambda call: INT.with_nullability(call.nullable), _position)
_register_needle(
    "ARRAY_REMOVE",
    _of_array,
    lambda items, needle: tuple(item for item in items if not (item is needle or item == needle)),
)


def _distinct(items: Any) -> tuple[Any, ...]:
    return tuple(
        {element_key(item): item for item in reversed(items)}[key] for key in dict.fromkeys(map(element_key, items))
    )


scalar("ARRAY_DISTINCT", (ARRAY,), _of_array, _distinct)
scalar("ARRAY_REVERSE", (ARRAY,), _of_array, lambda items: items[::-1])


def _union(left: Any, right: Any) -> tuple[Any, ...]:
    return _distinct(left + right)


def _except(left: Any, right: Any) -> tuple[Any, ...]:
    unwanted = set(map(element_key, right))
    return _distinct(tuple(item for item in left if element_key(item) not in unwanted))


def _intersect(left: Any, right: Any) -> tuple[Any, ...]:
    wanted = set(map(element_key, right))
    return _distinct(tuple(item for item in left if element_key(item) in wanted))


def _concat(*arrays: Any) -> tuple[Any, ...]:
    return tuple(item for array in arrays for item in array)


def _register_of_arrays(name: str, function: Callable[..., Any], repeat: bool = False) -> None:
    def infer(call: Call) -> DataType:
        check_arguments(call, (ARRAY,) if repeat else (ARRAY, ARRAY), repeat=repeat)
        elements = [each.element_type for each in call.types if isinstance(each, ArrayType)]
        return ArrayType(_common(call, elements), call.nullable)

    def make(call: Call) -> Callable[..., Any]:
        result = call.result
        assert result is not None
        casts = [to_common(each, result, call.session) for each in call.types]

        def compute(*arrays: Any) -> Any:
            return function(*(array if cast is None else cast(array) for array, cast in zip(arrays, casts)))

        return compute

    register(Function(name, infer, make))


_register_of_arrays("ARRAY_CONCAT", _concat, repeat=True)
_register_of_arrays("ARRAY_UNION", _union)
_register_of_arrays("ARRAY_EXCEPT", _except)
_register_of_arrays("ARRAY_INTERSECT", _intersect)


def _extreme(choose: Callable[..., Any]) -> Callable[[Any], Any]:
    def extreme(items: Any) -> Any:
        known = [item for item in items if item is not None]
        return choose(known) if known else None

    return extreme


scalar("ARRAY_MAX", (ARRAY,), _element_of, _extreme(max))
scalar("ARRAY_MIN", (ARRAY,), _element_of, _extreme(min))


def _make_join(call: Call) -> Callable[..., Any]:
    array = call.types[0]
    assert isinstance(array, ArrayType)
    write = text_function(array.element_type, call.session)

    def join(items: Any, separator: Any, null_text: Any = None) -> Any:
        texts = [null_text if item is None else write(item) for item in items]
        return separator.join(text for text in texts if text is not None)

    return join


scalar("ARRAY_JOIN", (ARRAY, TEXT, TEXT), lambda call: STRING.with_nullability(call.nullable), make=_make_join, least=2)


def _slice(items: Any, start: int, end: int | None = None) -> Any:
    size = len(items)
    last = size if end is None else end
    first = max(1, size + start + 1) if start < 0 else max(start, 1)
    last = size + last + 1 if last < 0 else last if last else 1
    return items[first - 1 : last] if first <= last else ()


scalar(
    "ARRAY_SLICE",
    (ARRAY, INTEGER, INTEGER),
    lambda call: call.types[0].with_nullability(call.nullable),
    _slice,
    least=2,
)


def _sort(items: Any, ascending: bool = True, nulls_first: bool | None = None) -> Any:
    first = ascending if nulls_first is None else nulls_first
    known = sorted((item for item in items if item is not None), reverse=not ascending)
    nulls = [None] * (len(items) - len(known))
    return tuple(nulls + known if first else known + nulls)


scalar(
    "ARRAY_SORT", (ARRAY, BOOLEAN, BOOLEAN), lambda call: call.types[0].with_nullability(call.nullable), _sort, least=1
)


# Functions of maps


def _map_of(call: Call) -> MapType:
    map_type = call.types[0]
    assert isinstance(map_type, MapType)
    return map_type


def _entry_type(call: Call) -> DataType:
    entry = RowType([RowField("key", _map_of(call).key_type), RowField("value", _map_of(call).value_type)])
    return ArrayType(entry, call.nullable)


scalar(
    "MAP_KEYS", (MAP,), lambda call: ArrayType(_map_of(call).key_type, call.nullable), lambda entries: tuple(entries)
)
scalar(
    "MAP_VALUES",
    (MAP,),
    lambda call: ArrayType(_map_of(call).value_type, call.nullable),
    lambda entries: tuple(entries.values()),
)
scalar("MAP_ENTRIES", (MAP,), _entry_type, lambda entries: tuple(entries.items()))


def _infer_from_arrays(call: Call) -> DataType:
    check_arguments(call, (ARRAY, ARRAY))
    keys, values = call.types
    assert isinstance(keys, ArrayType) and isinstance(values, ArrayType)
    return MapType(keys.element_type, values.element_type, call.nullable)


def _map_from_arrays(keys: Any, values: Any) -> dict[Any, Any]:
    if len(keys) != len(values):
        raise FiresteelError(f"MAP_FROM_ARRAYS: {len(keys)} keys and {len(values)} values; there have to be as many.")
    return dict(zip(keys, values))


register(Function("MAP_FROM_ARRAYS", _infer_from_arrays, lambda call: _map_from_arrays))


def _infer_map_union(call: Call) -> DataType:
    check_arguments(call, (MAP,), repeat=True)
    return _common(call, call.types).with_nullability(call.nullable)


def _make_map_union(call: Call) -> Callable[..., Any]:
    result = call.result
    assert result is not None
    casts = [to_common(each, result, call.session) for each in call.types]

    def union(*maps: Any) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        for entries, cast in zip(maps, casts):
            merged.update(entries if cast is None else cast(entries))
        return merged

    return union


register(Function("MAP_UNION", _infer_map_union, _make_map_union))
