"""Finding the declared type of a class, a type hint or a value.

A class is a POJO, so that its fields are known by name, when it keeps these rules:

1. it is public: its name does not begin with an underscore;
2. it can be made without arguments (a NamedTuple or a frozen dataclass need not: it is made whole);
3. every field is public, or has a getter and a setter (a property with both);
4. every field has a type annotation.

A class that breaks a rule is pickled as a whole, like any other object, and the log says which rule it was.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import inspect
import logging
import types
import typing
from collections.abc import Iterable
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.tuples import MAX_TUPLE_ARITY
from firesteel.common.typeinfo import PojoTypeInfo, TypeInformation, Types
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError

__all__ = ["TypeHint", "broken_pojo_rule", "extract_type"]

logger = logging.getLogger(__name__)

_BASIC: dict[Any, TypeInformation] = {
    bool: Types.BOOLEAN(),
    int: Types.LONG(),
    float: Types.DOUBLE(),
    str: Types.STRING(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    bytearray: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    decimal.Decimal: Types.BIG_DEC(),
    datetime.datetime: Types.SQL_TIMESTAMP(),
    datetime.date: Types.SQL_DATE(),
    datetime.time: Types.SQL_TIME(),
    Instant: Types.INSTANT(),
}

_PICKLED = Types.PICKLED_BYTE_ARRAY()


def extract_type(type_or_value: Any) -> TypeInformation:
    """The declared type of a class, of a type hint, or of a value.

    Recognised are basic values, bytes, dates and times, tuples, lists, dicts, Rows, NamedTuples, dataclasses
    and annotated classes; anything else is pickled. An annotation that cannot be resolved is an error naming
    the path to the field.

    ::

        >>> extract_type(tuple[int, str])
        TupleTypeInfo(Long, String)
        >>> extract_type(Row(word="to", count=1))
        RowTypeInfo(word: String, count: Long)
    """
    if isinstance(type_or_value, TypeInformation):
        return type_or_value
    if isinstance(type_or_value, TypeHint):
        return type_or_value.get_type_info()
    if isinstance(type_or_value, type) or typing.get_origin(type_or_value) is not None:
        return _of_hint(type_or_value, path=_label(type_or_value), above=())
    if type_or_value is Any:
        return _PICKLED
    return _of_value(type_or_value)


class TypeHint:
    """Holds a Python type hint where a declared type is asked for.

    ::

        >>> TypeHint(dict[str, float]).get_type_info()
        MapTypeInfo<String, Double>
    """

    def __init__(self, hint: Any) -> None:
        self._hint = hint

    def get_type_info(self) -> TypeInformation:
        """The declared type that the hint stands for."""
        return _of_hint(self._hint, path=_label(self._hint), above=())


def _label(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


def _of_hint(hint: Any, path: str, above: tuple[type, ...]) -> TypeInformation:
    """The type of a hint found at `path`, inside the classes `above` (which it may refer back to)."""
    if isinstance(hint, TypeInformation):
        return hint
    if hint in _BASIC:
        return _BASIC[hint]
    origin = typing.get_origin(hint)
    if origin is not None:
        return _of_generic(hint, origin, typing.get_args(hint), path, above)
    if not isinstance(hint, type) or hint in above or issubclass(hint, Row):
        return _PICKLED
    if _has_fields(hint):
        return _of_class(hint, path, above)
    return _PICKLED


def _of_generic(hint: Any, origin: Any, args: tuple[Any, ...], path: str, above: tuple[type, ...]) -> TypeInformation:
    if origin in (typing.Union, types.UnionType):
        present = [arg for arg in args if arg is not type(None)]
        return _of_hint(present[0], path, above) if len(present) == 1 else _PICKLED
    if origin is typing.Annotated:
        return _of_hint(args[0], path, above)
    if origin is list and args:
        return Types.LIST(_of_hint(args[0], f"{path}[]", above))
    if origin is dict and args:
        return Types.MAP(_of_hint(args[0], f"{path} key", above), _of_hint(args[1], f"{path} value", above))
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return Types.OBJECT_ARRAY(_of_hint(args[0], f"{path}[]", above))
    if origin is tuple and len(args) <= MAX_TUPLE_ARITY:
        return Types.TUPLE([_of_hint(arg, f"{path}.f{i}", above) for i, arg in enumerate(args)])
    return _PICKLED


def _of_value(value: Any) -> TypeInformation:
    kind = type(value)
    if kind is int:
        return Types.LONG() if Types.LONG().check(value) is None else Types.BIG_INT()
    if kind in _BASIC:
        return _BASIC[kind]
    if isinstance(value, Row):
        field_types = [_of_value(item) for item in value]
        if value._fields is None:
            return Types.ROW(field_types)
        return Types.ROW_NAMED(value._fields, field_types)
    if _has_fields(kind):
        return _of_class(kind, kind.__name__, (), value)
    if isinstance(value, tuple) and len(value) <= MAX_TUPLE_ARITY:
        return Types.TUPLE([_of_value(item) for item in value])
    if isinstance(value, list):
        return Types.LIST(_common_type(value))
    if isinstance(value, dict):
        return Types.MAP(_common_type(value), _common_type(value.values()))
    return _PICKLED


def _common_type(values: Iterable[Any]) -> TypeInformation:
    found = {_of_value(value) for value in values if value is not None}
    return found.pop() if len(found) == 1 else _PICKLED


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def _is_value_class(cls: type) -> bool:
    """Whether instances are made whole and never changed, like Scala's case classes."""
    if _is_named_tuple(cls):
        return True
    return dataclasses.is_dataclass(cls) and bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009


def _has_fields(cls: type) -> bool:
    """Whether a class of the user declares fields or could hold some, so that the POJO rules apply."""
    if _is_named_tuple(cls) or dataclasses.is_dataclass(cls):
        return True
    if cls.__module__ == "builtins" or issubclass(cls, (tuple, list, dict, set, frozenset, BaseException)):
        return False
    return "__dict__" in dir(cls) and cls is not object


def _field_names(cls: type) -> list[str]:
    if _is_named_tuple(cls):
        return list(getattr(cls, "_fields"))  # noqa: B009
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    names: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        for name, hint in inspect.get_annotations(base).items():
            if not _is_class_variable(hint):
                names[name] = None
    return list(names)


def _is_class_variable(hint: Any) -> bool:
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return hint is typing.ClassVar or typing.get_origin(hint) is typing.ClassVar


def broken_pojo_rule(cls: type, value: Any = None) -> str | None:
    """Which POJO rule the class (or, if given, this instance of it) breaks, or None if it keeps all."""
    if cls.__name__.startswith("_"):
        return f"rule 1: the class must be public, but its name is {cls.__name__}"
    if not _is_value_class(cls):
        needed = _required_arguments(cls)
        if needed:
            return f"rule 2: the class must be made without arguments, but it needs {', '.join(needed)}"
    names = _field_names(cls)
    for name in names:
        if name.startswith("_") and not _has_accessors(cls, name):
            return f"rule 3: field {name} must be public or have a getter and a setter"
    loose = [name for name in getattr(value, "__dict__", ()) if name not in names]
    loose = [name for name in loose if not _has_accessors(cls, name)]
    if loose or not names:
        which = f"field {loose[0]} has" if loose else "no field has"
        return f"rule 4: every field must have a type annotation, but {which} {'none' if loose else 'one'}"
    return None


def _required_arguments(cls: type) -> list[str]:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return []
    parameters = list(inspect.signature(cls).parameters.values())
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in optional]


def _has_accessors(cls: type, name: str) -> bool:
    """Whether a property, or a pair get_x and set_x, stands for the private field."""
    public = name.lstrip("_")
    found = inspect.getattr_static(cls, public, None)
    if isinstance(found, property):
        return found.fset is not None
    return callable(getattr(cls, f"get_{public}", None)) and callable(getattr(cls, f"set_{public}", None))


def _of_class(cls: type, path: str, above: tuple[type, ...], value: Any = None) -> TypeInformation:
    broken = broken_pojo_rule(cls, value)
    if broken is not None:
        logger.info("%s.%s is pickled as a whole, it is no POJO. Broken %s.", cls.__module__, path, broken)
        return _PICKLED
    hints = _resolved_hints(cls, path)
    names = _field_names(cls)
    inner = (*above, cls)
    # A NamedTuple made by collections.namedtuple has no annotations: any value fits its fields.
    field_types = [_of_hint(hints.get(name, Any), f"{path}.{name}", inner) for name in names]
    return PojoTypeInfo(cls, names, field_types)


def _resolved_hints(cls: type, path: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError) as error:
        field = next((name for name in _field_names(cls) if not _resolves(cls, name)), "?")
        raise ConfigurationError(
            f"the annotation of {path}.{field} cannot be resolved: {error}. "
            "Define the type at module level or import it there at run time."
        ) from error


def _resolves(cls: type, name: str) -> bool:
    """Whether the annotation of one field can be resolved, looking at it alone."""
    for base in cls.__mro__:
        annotations = inspect.get_annotations(base)
        if name not in annotations:
            continue
        alone = type("Alone", (), {"__annotations__": {name: annotations[name]}, "__module__": base.__module__})
        try:
            typing.get_type_hints(alone)
        except (NameError, TypeError):
            return False
        return True
    return True
