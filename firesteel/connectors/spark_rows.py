"""Records as rows of a Spark DataFrame: columns from declared types or from the records themselves."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PojoTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError

__all__ = ["rows_to_dataframe"]

# Turns a value that is not None and fits its type into what Spark takes; None: it is taken as it is.
Converter = Callable[[Any], Any]

_BIG_DECIMAL = (38, 18)


def rows_to_dataframe(rows: Sequence[Any], type_info: TypeInformation | None, spark: Any | None = None) -> Any:
    """Make a Spark DataFrame of records.

    Rows, dataclasses, named tuples and dicts become columns by their names, tuples columns ``f0``, ``f1``, ...; any
    other record becomes one column ``value``.

    :param rows: The records.
    :param type_info: The declared type of the records. Without one (None, or a type that says nothing) the columns
        come from the first record, and their types from annotations or from the first value that is not None.
    :param spark: The SparkSession to use; the active one, or a new one, if None.
    :raises TypeMismatchError: A value does not fit its type, or its type does not exist in Spark.
    """
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField, StructType

    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        type_info = _infer(rows)
    for index, value in enumerate(rows):
        type_info.ensure(value, f"record {index} of the stream")
    names, types, take_apart = _columns(type_info)
    mapped = [_spark_type(field_type, name) for name, field_type in zip(names, types, strict=True)]
    schema = StructType([StructField(name, spark) for name, (spark, _) in zip(names, mapped, strict=True)])
    convert = _convert_fields([converter for _, converter in mapped])
    data = [convert(take_apart(value)) for value in rows]
    session = spark if spark is not None else SparkSession.builder.getOrCreate()
    return session.createDataFrame(data, schema, verifySchema=False)


def _columns(type_info: TypeInformation) -> tuple[list[str], list[TypeInformation], Callable[[Any], Sequence[Any]]]:
    """The columns of a record type, and what takes a record apart into them."""
    if isinstance(type_info, (RowTypeInfo, PojoTypeInfo)):
        names = type_info.get_field_names()
        return names, type_info.get_field_types(), lambda value: _fields(value, names)
    if isinstance(type_info, TupleTypeInfo):
        types = type_info.get_field_types()
        return [f"f{index}" for index in range(len(types))], types, lambda value: value
    return ["value"], [type_info], lambda value: (value,)


def _fields(value: Any, names: Sequence[str]) -> Sequence[Any]:
    """The fields of a record that fits a type with these names, in their order."""
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, Row):
        return value.get_fields_by_names(names)
    if isinstance(value, (tuple, list)):
        return value
    return [getattr(value, name) for name in names]


def _convert_fields(converters: Sequence[Converter | None]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if not any(converters):
        return tuple

    def convert(fields: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(
            value if value is None or converter is None else converter(value)
            for value, converter in zip(fields, converters, strict=True)
        )

    return convert


def _spark_type(type_info: TypeInformation, path: str) -> tuple[Any, Converter | None]:
    """Spark's type for a declared type, and how values become what Spark takes."""
    from pyspark.sql import types as spark

    if isinstance(type_info, BasicTypeInfo):
        return _spark_basic_type(type_info)
    if isinstance(type_info, DateTypeInfo):
        return spark.DateType(), None
    if isinstance(type_info, TimestampTypeInfo):
        return spark.TimestampType(), None
    if isinstance(type_info, LocalTimeTypeInfo):
        return _spark_local_time(type_info, path)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return spark.BinaryType(), _signed_bytes
    if isinstance(type_info, (RowTypeInfo, PojoTypeInfo, TupleTypeInfo)):
        return _spark_struct(type_info, path)
    if isinstance(type_info, MapTypeInfo):
        return _spark_map(type_info, path)
    if isinstance(type_info, (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)):
        spark_element, converter = _spark_type(type_info.element_type, f"{path}[]")
        return spark.ArrayType(spark_element), lambda values: [
            value if value is None or converter is None else converter(value) for value in values
        ]
    raise _no_spark_type(type_info, path)


def _no_spark_type(type_info: TypeInformation, path: str) -> TypeMismatchError:
    hint = "Map it to a datetime or a text first."
    if not isinstance(type_info, (TimeTypeInfo, LocalTimeTypeInfo)):
        hint = "Declare a narrower type, for instance map(..., output_type=Types.ROW_NAMED(...))."
    return TypeMismatchError(f"column {path!r} has the type {type_info}, which Spark has no column type for. {hint}")


def _spark_basic_type(type_info: BasicTypeInfo) -> tuple[Any, Converter | None]:
    from pyspark.sql import types as spark

    known: dict[TypeInformation, tuple[Any, Converter | None]] = {
        Types.STRING(): (spark.StringType(), None),
        Types.CHAR(): (spark.StringType(), None),
        Types.BOOLEAN(): (spark.BooleanType(), None),
        Types.BYTE(): (spark.ByteType(), int),
        Types.SHORT(): (spark.ShortType(), int),
        Types.INT(): (spark.IntegerType(), int),
        Types.LONG(): (spark.LongType(), int),
        # Declared as floating point, a whole number fits too; Spark takes floats only.
        Types.FLOAT(): (spark.FloatType(), float),
        Types.DOUBLE(): (spark.DoubleType(), float),
        Types.BIG_INT(): (spark.DecimalType(38, 0), _big_int),
        Types.BIG_DEC(): (spark.DecimalType(*_BIG_DECIMAL), _big_decimal),
        Types.INSTANT(): (spark.TimestampType(), _instant),
    }
    return known[type_info]


def _spark_local_time(type_info: LocalTimeTypeInfo, path: str) -> tuple[Any, Converter | None]:
    from pyspark.sql import types as spark

    kind = LocalTimeTypeInfo.TimeType
    if type_info == LocalTimeTypeInfo(kind.LOCAL_DATE):
        return spark.DateType(), None
    if type_info == LocalTimeTypeInfo(kind.LOCAL_DATE_TIME):
        return spark.TimestampNTZType(), None
    raise _no_spark_type(type_info, path)


def _spark_struct(type_info: RowTypeInfo | PojoTypeInfo | TupleTypeInfo, path: str) -> tuple[Any, Converter]:
    from pyspark.sql import types as spark

    names, types, take_apart = _columns(type_info)
    mapped = [_spark_type(field, f"{path}.{name}") for name, field in zip(names, types, strict=True)]
    convert = _convert_fields([converter for _, converter in mapped])
    struct = spark.StructType([spark.StructField(name, field) for name, (field, _) in zip(names, mapped, strict=True)])
    return struct, lambda value: convert(take_apart(value))


def _spark_map(type_info: MapTypeInfo, path: str) -> tuple[Any, Converter]:
    from pyspark.sql import types as spark

    key, convert_key = _spark_type(type_info.key_type, f"{path} key")
    item, convert_item = _spark_type(type_info.value_type, f"{path}[]")

    def convert(value: dict[Any, Any]) -> dict[Any, Any]:
        return {
            convert_key(k) if convert_key else k: v if v is None or convert_item is None else convert_item(v)
            for k, v in value.items()
        }

    return spark.MapType(key, item), convert


def _signed_bytes(value: Any) -> bytearray:
    """Bytes as Spark takes them; elements of a list may be negative, as in Java."""
    return bytearray(value if isinstance(value, (bytes, bytearray)) else (element & 0xFF for element in value))


def _instant(value: Instant) -> datetime.datetime:
    moment = datetime.datetime.fromtimestamp(value.seconds, datetime.timezone.utc)
    return moment + datetime.timedelta(microseconds=value.nanos // 1000)


def _big_int(value: int) -> decimal.Decimal:
    if abs(value) >= 10**38:
        raise TypeMismatchError(f"{value} has more than the 38 digits that a Spark decimal holds. Map it to a text.")
    return decimal.Decimal(int(value))


def _big_decimal(value: decimal.Decimal) -> decimal.Decimal:
    precision, scale = _BIG_DECIMAL
    fits = value.is_finite() and abs(value) < 10 ** (precision - scale)
    if not fits or value != round(value, scale):
        raise TypeMismatchError(
            f"{value} does not fit the Spark decimal of {precision - scale} digits before and {scale} after the point "
            "without loss. Round it, or map it to a text or a float."
        )
    return value


def _infer(rows: Sequence[Any]) -> TypeInformation:
    """The type of undeclared records: names and annotations of the first, else the first values that are not None."""
    if not rows:
        raise ConfigurationError(
            "the stream has no records and no declared type, so the columns of its DataFrame are not known. Declare "
            "one, for instance map(..., output_type=Types.ROW_NAMED([...], [...]))."
        )
    first = rows[0]
    if isinstance(first, dict):
        names = list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))
        if not all(isinstance(name, str) for name in names):
            raise TypeMismatchError(f"the keys of a dict become columns and must be texts, got {names!r:.80}")
        return RowTypeInfo([_first_type(rows, name, row_get) for name in names], names)
    if isinstance(first, Row) and first._fields is not None:
        return RowTypeInfo([_first_type(rows, name, row_get) for name in first._fields], first._fields)
    if dataclasses.is_dataclass(first) or (isinstance(first, tuple) and hasattr(first, "_fields")):
        return _infer_pojo(rows)
    if isinstance(first, (tuple, Row)):
        types = [_first_type(rows, index, item_get) for index in range(len(first))]
        return RowTypeInfo(types)
    return _first_type([(row,) for row in rows], 0, item_get)


def row_get(row: Any, name: str) -> Any:
    """A field of a dict or named row, or None."""
    return row.get(name) if isinstance(row, dict) else row[name] if isinstance(row, Row) and name in row else None


def item_get(row: Any, index: int) -> Any:
    """A field of a tuple, or None."""
    return row[index] if isinstance(row, (tuple, list, Row)) and index < len(row) else None


def _infer_pojo(rows: Sequence[Any]) -> TypeInformation:
    cls = type(rows[0])
    annotated = TypeInformation.of(cls)
    declared: dict[str, TypeInformation] = {}
    if isinstance(annotated, PojoTypeInfo):
        declared = dict(zip(annotated.get_field_names(), annotated.get_field_types(), strict=True))
    names = list(rows[0]._fields) if issubclass(cls, tuple) else [field.name for field in dataclasses.fields(cls)]

    def field_type(name: str) -> TypeInformation:
        known = declared.get(name)
        vague = known is None or isinstance(known, PickledBytesTypeInfo)
        return _first_type(rows, name, lambda row, name: getattr(row, name, None)) if vague else known  # type: ignore[return-value]

    return PojoTypeInfo(cls, names, [field_type(name) for name in names])


def _first_type(rows: Sequence[Any], key: Any, get: Callable[[Any, Any], Any]) -> TypeInformation:
    """The type of the first value that is not None; text if there is none."""
    for row in rows:
        value = get(row, key)
        if value is not None:
            return TypeInformation.of(value)
    return Types.STRING()
