"""JSON: is it, what is in it, and values made JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.errors import FiresteelError
from firesteel.table.functions.casting import CastError, cast_function, nanos_per_tick, text_function
from firesteel.table.functions.dates import local_of_instant, timestamp_text
from firesteel.table.functions.definition import Call, Function, Session, call_error, register
from firesteel.table.functions.json_path import Found, JsonError, is_scalar, look_up, parse_json
from firesteel.table.functions.json_text import RawJson, json_text, quoted
from firesteel.table.functions.signatures import ANY, BOOLEAN, STRING, TEXT, check_arguments, gives, scalar
from firesteel.table.functions.variants import Variant, parse_variant
from firesteel.table.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DataTypes,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    IntervalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowType,
    StructuredType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VariantType,
    is_number,
    is_text,
)

__all__ = ["JsonFunctionError", "json_converter"]


class JsonFunctionError(FiresteelError, ValueError):
    """JSON that is not as a function with ERROR ON ... was told that it is."""


# IS JSON


def _kind_of(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        value = parse_json(text)
    except JsonError:
        return None
    return "OBJECT" if isinstance(value, dict) else "ARRAY" if isinstance(value, list) else "SCALAR"


def _register_is_json(kind: str, negated: bool) -> None:
    words = "IS NOT JSON" if negated else "IS JSON"

    def verdict(text: str | None) -> bool:
        found = _kind_of(text)
        return (found is not None and kind in ("VALUE", found)) != negated

    names = (f"{words} {kind}", *([words] if kind == "VALUE" else []))
    aliases = names[1:] + (("IS_JSON",) if kind == "VALUE" and not negated else ())
    scalar(names[0], (TEXT,), lambda call: DataTypes.BOOLEAN().not_null(), verdict, strict=False, aliases=aliases)


for _kind in ("VALUE", "OBJECT", "ARRAY", "SCALAR"):
    for _negated in (False, True):
        _register_is_json(_kind, _negated)


# Reading


def _infer_exists(call: Call) -> DataType:
    check_arguments(call, (TEXT, TEXT, ANY), least=2)
    return DataTypes.BOOLEAN()


def _make_exists(call: Call) -> Callable[..., bool | None]:
    on_error = call.literal(2, "FALSE")

    def exists(document: str, path: str, _on_error: Any = None) -> bool | None:
        found = look_up(document, path)
        if found.error is None:
            return found.value is not None
        if on_error == "ERROR":
            raise JsonFunctionError(f"JSON_EXISTS: {found.error}.")
        return {"TRUE": True, "FALSE": False, "UNKNOWN": None}[on_error]

    return exists


register(Function("JSON_EXISTS", _infer_exists, _make_exists))


def _infer_value(call: Call) -> DataType:
    check_arguments(call, (TEXT, TEXT, ANY, ANY, ANY, ANY, ANY), least=2)
    return call.types[2].nullable() if len(call.types) > 2 else STRING


def _make_value(call: Call) -> Callable[..., Any]:
    target = call.types[2] if len(call.types) > 2 else STRING
    on_empty, on_error = call.literal(3, "NULL"), call.literal(5, "NULL")
    read = _returning(target, call.session)
    cast_empty, cast_error = (_default_cast(call, position, target) for position in (4, 6))

    def value(document: Any, path: Any, *options: Any) -> Any:
        if document is None or path is None:
            return None
        found = look_up(document, path)
        if found.error is None:
            empty = found.value is None or (found.lax and not is_scalar(found.value))
            if empty:
                return _behave(call, on_empty, "the path leads to nothing", lambda: cast_empty(options[2]))
            try:
                if is_scalar(found.value):
                    return read(found.value)
                reason = "the value is no scalar"
            except (CastError, JsonError) as error:
                reason = str(error)
        else:
            reason = str(found.error)
        return _behave(call, on_error, reason, lambda: cast_error(options[4]))

    return value


def _default_cast(call: Call, position: int, target: DataType) -> Callable[[Any], Any]:
    if position >= len(call.types) or isinstance(call.types[position], NullType):
        return lambda value: value
    if isinstance(call.types[position], BooleanType) and is_text(target):
        return lambda value: None if value is None else "true" if value else "false"
    cast = cast_function(call.types[position], target, call.session)
    return lambda value: None if value is None else cast(value)


def _behave(call: Call, action: str, reason: str, default: Callable[[], Any]) -> Any:
    if action == "ERROR":
        raise JsonFunctionError(f"{call.name}: {reason}.")
    if action == "DEFAULT":
        return default()
    return {"EMPTY ARRAY": "[]", "EMPTY_ARRAY": "[]", "EMPTY OBJECT": "{}", "EMPTY_OBJECT": "{}"}.get(action)


def _plain_text(value: Any) -> str:
    return value if isinstance(value, str) else json_text(value)


def _returning(target: DataType, session: Session) -> Callable[[Any], Any]:
    if is_text(target):
        return _plain_text

    def read(value: Any) -> Any:
        if isinstance(target, BooleanType) and isinstance(value, bool):
            return value
        if is_number(target) and isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            if isinstance(value, Decimal) and isinstance(target, IntegralType):
                raise JsonError(f"{value} is no whole number")
            return cast_function(DataTypes.DECIMAL(38, 18), target, session)(value)
        raise JsonError(f"{value!r} is not of type {target.nullable()}")

    return read


register(Function("JSON_VALUE", _infer_value, _make_value, strict=False))


def _infer_query(call: Call) -> DataType:
    check_arguments(call, (TEXT, TEXT, ANY, ANY, ANY, ANY), least=2)
    return call.types[2].nullable() if len(call.types) > 2 else STRING


def _make_query(call: Call) -> Callable[..., Any]:
    target = call.types[2] if len(call.types) > 2 else STRING
    wrapper, on_empty, on_error = call.literal(3, "WITHOUT"), call.literal(4, "NULL"), call.literal(5, "NULL")
    to_result = _query_result(target)

    def query(document: Any, path: Any, *_options: Any) -> Any:
        if document is None or path is None:
            return None
        found = look_up(document, path)
        reason = str(found.error)
        if found.error is None:
            value = _wrapped(found, wrapper)
            if value is None or (found.lax and is_scalar(value)):
                return to_result(_behave(call, on_empty, "the path leads to nothing", lambda: None))
            if not is_scalar(value):
                return to_result(json_text(value))
            reason = "the value is neither an object nor an array"
        return to_result(_behave(call, on_error, reason, lambda: None))

    return query


def _wrapped(found: Found, wrapper: str) -> Any:
    value = found.value
    if value is None or wrapper.startswith("WITHOUT"):
        return value
    if "UNCONDITIONAL" in wrapper:
        return [value]
    return value if isinstance(value, list) else [value]


def _query_result(target: DataType) -> Callable[[Any], Any]:
    if not isinstance(target, ArrayType):
        return lambda text: text

    def items(text: Any) -> Any:
        value = None if text is None else parse_json(text)
        if not isinstance(value, list):
            return None
        return tuple(None if item is None else _plain_text(item) for item in value)

    return items


register(Function("JSON_QUERY", _infer_query, _make_query, strict=False))


# Writing


def _check_convertible(call: Call, types: list[DataType]) -> None:
    """Dates, times and intervals have no form in JSON, as in Flink."""
    for each in types:
        if isinstance(each, (DateType, TimeType, IntervalType, RawType)):
            raise call_error(call, f"{each.nullable()} has no form in JSON; CAST it to STRING")
        nested = each.field_types() if isinstance(each, (RowType, StructuredType)) else each.parameters()
        _check_convertible(call, [part for part in nested if isinstance(part, DataType)])


def json_converter(data_type: DataType, session: Session) -> Callable[[Any], Any]:
    """What makes a value of a type one that :func:`json_text` writes."""
    convert = _converter(data_type, session)
    return lambda value: None if value is None else convert(value)


def _converter(data_type: DataType, session: Session) -> Callable[[Any], Any]:
    if is_text(data_type) or isinstance(data_type, (BooleanType, IntegralType, NullType)):
        return lambda value: value
    if isinstance(data_type, (FloatType, DoubleType)):
        text = text_function(data_type, session)
        return lambda value: RawJson(_number_text(text(value)))
    if isinstance(data_type, DecimalType):
        return lambda value: RawJson(format(value, "f"))
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return lambda value: base64.b64encode(value).decode()
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        return _timestamp_json(data_type, session)
    if isinstance(data_type, VariantType):
        return lambda value: RawJson(value.json())
    if isinstance(data_type, (ArrayType, MapType, MultisetType, RowType, StructuredType)):
        return _nested(data_type, session)
    return text_function(data_type, session)


def _number_text(text: str) -> str:
    """A floating-point number as Java's BigDecimal writes it; what is none, as a text."""
    return str(Decimal(text)) if text[-1].isdigit() else quoted(text)


def _timestamp_json(data_type: TimestampType | LocalZonedTimestampType, session: Session) -> Callable[[int], str]:
    tick, zone = nanos_per_tick(data_type), session.time_zone
    if isinstance(data_type, TimestampType):
        return lambda value: timestamp_text(value * tick, 0).replace(" ", "T")
    return lambda value: timestamp_text(local_of_instant(value * tick, zone), 0).replace(" ", "T") + "Z"


def _nested(data_type: DataType, session: Session) -> Callable[[Any], Any]:
    if isinstance(data_type, (RowType, StructuredType)):
        # Objects have their keys in order, as Flink writes them.
        fields = [(field.name, json_converter(field.data_type, session)) for field in data_type.fields]
        order = sorted(range(len(fields)), key=lambda at: fields[at][0])
        return lambda row: {fields[at][0]: fields[at][1](row[at]) for at in order}
    if isinstance(data_type, ArrayType):
        element = json_converter(data_type.element_type, session)
        return lambda items: [element(item) for item in items]
    key = text_function(data_type.parameters()[0], session)
    item = (
        json_converter(data_type.parameters()[-1], session) if isinstance(data_type, MapType) else lambda count: count
    )
    return lambda entries: {key(name): item(value) for name, value in entries.items()}


def _make_json_string(call: Call) -> Callable[[Any], str]:
    convert = json_converter(call.types[0], call.session)
    return lambda value: json_text(convert(value))


def _infer_json_string(call: Call) -> DataType:
    check_arguments(call, (ANY,))
    _check_convertible(call, call.types)
    return STRING.with_nullability(call.nullable)


register(Function("JSON_STRING", _infer_json_string, _make_json_string))
scalar("JSON", (TEXT,), gives(STRING), lambda text: RawJson(json_text(parse_json(text))))


def _part_converters(call: Call, parts: tuple[Any, ...]) -> list[Callable[[Any], Any]]:
    return [json_converter(argument.type, call.session) for argument in parts]


def _infer_object(call: Call) -> DataType:
    if len(call.arguments) % 2 == 0:
        raise call_error(call, "takes keys and values in turn")
    if not all(is_text(each) for each in call.types[1::2]):
        raise call_error(call, "a key of an object is a text")
    _check_convertible(call, call.types[2::2])
    return STRING.not_null()


def _make_object(call: Call) -> Callable[..., str]:
    absent = call.literal(0) == "ABSENT"
    converters = _part_converters(call, call.arguments[2::2])

    def build(_on_null: Any, *parts: Any) -> RawJson:
        keys, values = parts[::2], [convert(value) for convert, value in zip(converters, parts[1::2])]
        return RawJson(json_text({key: value for key, value in zip(keys, values) if not (absent and value is None)}))

    return build


def _make_array(call: Call) -> Callable[..., str]:
    absent = call.literal(0) == "ABSENT"
    converters = _part_converters(call, call.arguments[1:])

    def build(_on_null: Any, *parts: Any) -> RawJson:
        values = [convert(value) for convert, value in zip(converters, parts)]
        return RawJson(json_text([value for value in values if not (absent and value is None)]))

    return build


register(Function("JSON_OBJECT", _infer_object, _make_object, strict=False))


def _infer_json_array(call: Call) -> DataType:
    _check_convertible(call, call.types[1:])
    return STRING.not_null()


register(Function("JSON_ARRAY", _infer_json_array, _make_array, strict=False))


# VARIANT


def _parse(text: str, allow_duplicate_keys: bool = False) -> Variant:
    try:
        return parse_variant(text, allow_duplicate_keys)
    except ValueError as error:
        raise JsonFunctionError(f"PARSE_JSON: {text!r} is not JSON: {error}. TRY_PARSE_JSON gives NULL then.") from None


def _try_parse(text: str, allow_duplicate_keys: bool = False) -> Variant | None:
    try:
        return parse_variant(text, allow_duplicate_keys)
    except ValueError:
        return None


scalar("PARSE_JSON", (TEXT, BOOLEAN), gives(DataTypes.VARIANT()), _parse, least=1)
scalar("TRY_PARSE_JSON", (TEXT, BOOLEAN), lambda call: DataTypes.VARIANT(), _try_parse, least=1)
