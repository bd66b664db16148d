"""Tables of made-up rows: random ones, or sequences."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from firesteel.common.config_options import ConfigOptions, DurationValue
from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.errors import ConfigurationError
from firesteel.table.connectors.base import TableContext, TableFactory, TableSource
from firesteel.table.functions import cast_function
from firesteel.table.functions.casting import nanos_per_tick
from firesteel.table.functions.definition import system_time
from firesteel.table.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)

__all__ = ["DataGenFactory", "RowMaker"]

ROWS_PER_SECOND = ConfigOptions.key("rows-per-second").long_type().default_value(10000)
NUMBER_OF_ROWS = ConfigOptions.key("number-of-rows").long_type().no_default_value()
SCAN_PARALLELISM = ConfigOptions.key("scan.parallelism").int_type().no_default_value()
_FIELD_OPTIONS = ("kind", "min", "max", "max-past", "length", "var-len", "start", "end", "null-rate")
_LETTERS = string.digits + "abcdef"
_DAY = 86_400_000

Make = Callable[[int, random.Random], Any]


class RowMaker:
    """The row of an index: always the same for one index, so that a restarted job makes the same rows."""

    def __init__(self, context: TableContext, now: int, seed: int) -> None:
        self._arguments = (context, now, seed)
        self._seed = seed
        self._makers = [_maker(context, field.name, field.data_type, now) for field in context.fields]

    def __call__(self, index: int) -> tuple[int, tuple[Any, ...]]:
        source = random.Random(self._seed + index)
        return (0, tuple([make(index, source) for make in self._makers]))

    def __reduce__(self) -> tuple[Any, ...]:
        return (RowMaker, self._arguments)


def _setting(context: TableContext, name: str, key: str) -> str | None:
    return context.options.get(f"fields.{name}.{key}")


def _maker(context: TableContext, name: str, data_type: DataType, now: int) -> Make:
    kind = _setting(context, name, "kind") or "random"
    if kind == "sequence":
        first = _bound(context, name, "start", data_type)
        convert = cast_function(DataTypes.BIGINT(), data_type, context.session)
        return lambda index, _: convert(first + index)
    if kind != "random":
        raise ConfigurationError(f"table {context.name}: 'fields.{name}.kind' is random or sequence, got {kind!r}.")
    make = _random(context, name, data_type, now)
    rate = float(_setting(context, name, "null-rate") or 0)
    return make if not rate else lambda index, source: None if source.random() < rate else make(index, source)


def _bound(context: TableContext, name: str, key: str, data_type: DataType) -> int:
    text = _setting(context, name, key)
    if text is None:
        raise ConfigurationError(f"table {context.name}: the sequence '{name}' needs 'fields.{name}.{key}'.")
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"table {context.name}: 'fields.{name}.{key}' is a number, got {text!r}.") from None


def _random(context: TableContext, name: str, data_type: DataType, now: int) -> Make:
    if isinstance(data_type, (IntegralType, FloatType, DoubleType, DecimalType)):
        return _number(context, name, data_type)
    if isinstance(data_type, BooleanType):
        return lambda _, source: source.random() < 0.5
    if isinstance(data_type, (CharType, VarCharType, BinaryType, VarBinaryType)):
        return _text(context, name, data_type)
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType, DateType, TimeType)):
        return _time(context, name, data_type, now)
    if isinstance(data_type, ArrayType):
        element = _random(context, f"{name}.element", data_type.element_type, now)
        length = int(_setting(context, name, "length") or 3)
        return lambda index, source: tuple([element(index, source) for _ in range(length)])
    if isinstance(data_type, MapType):
        key = _random(context, f"{name}.key", data_type.key_type, now)
        item = _random(context, f"{name}.value", data_type.value_type, now)
        return lambda index, source: {key(index, source): item(index, source) for _ in range(3)}
    if isinstance(data_type, RowType):
        parts = [_random(context, f"{name}.{field.name}", field.data_type, now) for field in data_type.fields]
        return lambda index, source: tuple([part(index, source) for part in parts])
    raise ConfigurationError(f"table {context.name}: the connector 'datagen' makes no {data_type} ('{name}').")


def _number(context: TableContext, name: str, data_type: DataType) -> Make:
    least, most = _setting(context, name, "min"), _setting(context, name, "max")
    if isinstance(data_type, IntegralType):
        low = data_type.low if least is None else int(least)
        high = data_type.high if most is None else int(most)
        return lambda _, source: source.randint(low, high)
    if isinstance(data_type, DecimalType):
        unit = Decimal(1).scaleb(-data_type.scale)
        end = 10**data_type.precision - 1
        first = -end if least is None else int(Decimal(least) / unit)
        last = end if most is None else int(Decimal(most) / unit)
        return lambda _, source: Decimal(source.randint(first, last)).scaleb(-data_type.scale)
    convert = cast_function(DataTypes.DOUBLE(), data_type, context.session)
    start = -1e30 if least is None else float(least)
    stop = 1e30 if most is None else float(most)
    return lambda _, source: convert(source.uniform(start, stop))


def _text(context: TableContext, name: str, data_type: DataType) -> Make:
    declared = data_type.parameters()[0]
    length = int(_setting(context, name, "length") or (100 if declared > 1_000_000 else declared))
    varies = (_setting(context, name, "var-len") or "false").lower() == "true"

    def make(_: int, source: random.Random) -> Any:
        size = source.randint(1, length) if varies else length
        if isinstance(data_type, (BinaryType, VarBinaryType)):
            return source.randbytes(size)
        return "".join(source.choices(_LETTERS, k=size))

    return make


def _time(context: TableContext, name: str, data_type: DataType, now: int) -> Make:
    text = _setting(context, name, "max-past")
    past = 0 if text is None else DurationValue().parse(text)
    if isinstance(data_type, DateType):
        return lambda _, source: (now - source.randint(0, past)) // _DAY
    if isinstance(data_type, TimeType):
        return lambda _, source: source.randrange(_DAY)
    nanos = nanos_per_tick(data_type)
    return lambda _, source: (now - source.randint(0, past)) * 1_000_000 // nanos


class _DataGen(TableSource):
    def __init__(self, context: TableContext, count: int | None) -> None:
        self._context, self._count = context, count

    def connect(self, environment: Any) -> Any:
        now = system_time() // 1_000_000
        seed = random.getrandbits(48)
        rate = RateLimiterStrategy.per_second(self._context.get(ROWS_PER_SECOND))
        maker = RowMaker(self._context, now, seed)
        stream = environment.from_data_generator(maker, self._count, rate, self._context.path[-1])
        parallelism = self._context.get(SCAN_PARALLELISM)
        return stream if parallelism is None else stream.set_parallelism(parallelism)


class DataGenFactory(TableFactory):
    """``'connector' = 'datagen'``: rows of random values, or of sequences (``'fields.id.kind' = 'sequence'``)."""

    identifier = "datagen"
    optional = (ROWS_PER_SECOND, NUMBER_OF_ROWS, SCAN_PARALLELISM)

    def option_keys(self, context: TableContext) -> list[str]:
        """Each column has options of its own."""
        columns = [f"fields.{name}.{key}" for name in _columns(context) for key in _FIELD_OPTIONS]
        return [*(option.key for option in self.optional), *columns]

    def source(self, context: TableContext) -> TableSource:
        """A source that ends with the first sequence, or after so many rows; else never."""
        counts = [count for field in context.fields if (count := _sequence_length(context, field.name)) is not None]
        rows = context.get(NUMBER_OF_ROWS)
        limits = [*counts, *([] if rows is None else [rows])]
        RowMaker(context, 0, 0)  # wrong options are found here, not in the task
        return _DataGen(context, min(limits) if limits else None)


def _columns(context: TableContext) -> list[str]:
    names: list[str] = []

    def add(name: str, data_type: DataType) -> None:
        names.append(name)
        if isinstance(data_type, ArrayType):
            add(f"{name}.element", data_type.element_type)
        elif isinstance(data_type, MapType):
            add(f"{name}.key", data_type.key_type)
            add(f"{name}.value", data_type.value_type)
        elif isinstance(data_type, RowType):
            for field in data_type.fields:
                add(f"{name}.{field.name}", field.data_type)

    for field in context.fields:
        add(field.name, field.data_type)
    return names


def _sequence_length(context: TableContext, name: str) -> int | None:
    if _setting(context, name, "kind") != "sequence":
        return None
    kind: Mapping[str, DataType] = {field.name: field.data_type for field in context.fields}
    first = _bound(context, name, "start", kind[name])
    return _bound(context, name, "end", kind[name]) - first + 1
