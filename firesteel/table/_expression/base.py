"""An expression, and what becomes one: Python values are literals."""

from __future__ import annotations

import datetime
import enum
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from firesteel.common.types import Row
from firesteel.errors import ProgramError
from firesteel.table.functions import Session, cast_function
from firesteel.table.tree import Apply, Constant, Node
from firesteel.table.types import (
    DataType,
    DataTypes,
    SymbolType,
    common_type,
)

if TYPE_CHECKING:
    from firesteel.table.expression import Expression

__all__ = ["ExpressionBase", "literal", "node_of", "symbol", "unit_of", "unit_symbol"]

_SYMBOL = SymbolType(False)
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_ZERO = datetime.date(1970, 1, 1)


class ExpressionBase:
    """A tree of functions, columns and constants; its methods build larger ones."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def _new(self, node: Node) -> Expression:
        make: Any = type(self)
        made: Expression = make(node)
        return made

    def _apply(self, name: str, *arguments: Any) -> Expression:
        return self._new(Apply(name, (self.node, *map(node_of, arguments))))

    def _apply_given(self, name: str, *arguments: Any) -> Expression:
        """Like `_apply`, without the arguments at the end that were not given."""
        given = list(arguments)
        while given and given[-1] is None:
            given.pop()
        return self._apply(name, *given)


def symbol(value: Any) -> Constant:
    """A keyword or a name among the arguments."""
    return Constant(value, _SYMBOL)


def unit_symbol(unit: Any) -> Constant:
    """A unit of time as an argument, given as such or by its name."""
    return symbol(unit.name if isinstance(unit, enum.Enum) else str(unit).upper())


def unit_of(unit: Any) -> Constant | None:
    """A unit of time as an argument; None stays None."""
    return None if unit is None else unit_symbol(unit)


def node_of(value: Any) -> Node:
    """An expression's tree; of any other value, the literal that it is."""
    if isinstance(value, ExpressionBase):
        return value.node
    if isinstance(value, Node):
        return value
    if isinstance(value, enum.Enum):
        return symbol(value.name)
    return literal(value)


def literal(value: Any, data_type: DataType | None = None) -> Constant:
    """A Python value as a literal; of the type given, or of the one that it has by itself, which is never nullable."""
    stored, found = _typed(value)
    if data_type is None:
        return Constant(stored, found)
    return Constant(_stored_as(stored, found, data_type), data_type)


def _stored_as(stored: Any, found: DataType, target: DataType) -> Any:
    return None if stored is None else cast_function(found, target, Session())(stored)


def _typed(value: Any) -> tuple[Any, DataType]:
    """A value as the engine holds it, and its type."""
    if value is None:
        return None, DataTypes.NULL()
    if isinstance(value, bool):
        return value, DataTypes.BOOLEAN(False)
    if isinstance(value, int):
        return value, _whole(value)
    if isinstance(value, float):
        return value, DataTypes.DOUBLE(False)
    if isinstance(value, str):
        return value, DataTypes.CHAR(len(value.encode("utf-16-le", "surrogatepass")) // 2, False)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value), DataTypes.BINARY(len(value), False)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return _time(value)
    return _constructed(value)


def _whole(value: int) -> DataType:
    for data_type in (DataTypes.INT(False), DataTypes.BIGINT(False)):
        if data_type.low <= value <= data_type.high:
            return data_type
    raise ProgramError(f"{value} is too large for a literal; give lit(...) a DECIMAL.")


def _decimal(value: Decimal) -> tuple[Decimal, DataType]:
    scale = max(0, -int(value.as_tuple().exponent))
    plain = value.quantize(Decimal(1).scaleb(-scale))
    return plain, DataTypes.DECIMAL(max(len(plain.as_tuple().digits), scale, 1), scale, False)


def _time(value: Any) -> tuple[int, DataType]:
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            moment = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return (moment - _EPOCH) // datetime.timedelta(microseconds=1), DataTypes.TIMESTAMP_LTZ(6, False)
        return (value - _EPOCH) // datetime.timedelta(microseconds=1), DataTypes.TIMESTAMP(6, False)
    if isinstance(value, datetime.date):
        return (value - _DAY_ZERO).days, DataTypes.DATE(False)
    if isinstance(value, datetime.timedelta):
        interval = DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(6)).not_null()
        return value // datetime.timedelta(milliseconds=1), interval
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000, DataTypes.TIME(0, False)


def _constructed(value: Any) -> tuple[Any, DataType]:
    if isinstance(value, (list, tuple)) and value:
        parts = [_typed(item) for item in value]
        element = common_type([kind for _, kind in parts])
        if element is not None:
            return tuple(_stored_as(item, kind, element) for item, kind in parts), DataTypes.ARRAY(element, False)
    if isinstance(value, dict) and value:
        keys, items = _constructed(list(value)), _constructed(list(value.values()))
        kinds = [kind.parameters()[0] for _, kind in (keys, items)]
        return dict(zip(keys[0], items[0])), DataTypes.MAP(kinds[0], kinds[1], False)
    if isinstance(value, Row):
        parts = [_typed(item) for item in value]
        names = value._fields or [f"f{at}" for at in range(len(value))]
        fields = [DataTypes.FIELD(name, kind) for name, (_, kind) in zip(names, parts)]
        return tuple(item for item, _ in parts), DataTypes.ROW(fields, False)
    raise ProgramError(f"{value!r} cannot be a literal: its type is not known. Give lit(...) a type, or use a column.")
