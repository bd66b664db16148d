"""What a function of SQL and of the Table API is: names, type inference, an implementation; and their catalogue."""

from __future__ import annotations

import datetime
import difflib
import enum
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import ProgramError
from firesteel.table.types import DataType

__all__ = [
    "Argument",
    "Call",
    "Function",
    "FunctionKind",
    "FunctionError",
    "Session",
    "call_error",
    "find_function",
    "functions",
    "register",
    "session_functions",
    "system_time",
]


class FunctionError(ProgramError, ValueError):
    """A call that cannot be: an unknown function, or arguments that it does not take."""


class FunctionKind(enum.Enum):
    """What a function makes of its arguments."""

    SCALAR = "SCALAR"
    AGGREGATE = "AGGREGATE"
    WINDOW = "WINDOW"
    TABLE = "TABLE"
    OTHER = "OTHER"


def system_time() -> int:
    """Nanoseconds since 1970 by this machine's clock."""
    since = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(microseconds=1) * 1000


@dataclass(frozen=True)
class Session:
    """What functions may ask of the job they run in: its time zone, the time, the database in use.

    `now` gives nanoseconds since 1970. In batch jobs it is asked once, in streaming ones for every record.
    """

    time_zone: str = "UTC"
    now: Callable[[], int] = system_time
    current_database: str = "default_database"


@dataclass(frozen=True)
class Argument:
    """What is known of an argument before anything runs: its type, and its value if it is a literal."""

    type: DataType
    is_literal: bool = False
    value: Any = None


@dataclass(frozen=True)
class Call:
    """A call before it runs: the function's arguments, and the session."""

    name: str
    arguments: tuple[Argument, ...]
    session: Session = field(default_factory=Session)
    result: DataType | None = None

    @property
    def types(self) -> list[DataType]:
        """The types of the arguments."""
        return [argument.type for argument in self.arguments]

    @property
    def nullable(self) -> bool:
        """Whether one of the arguments may be NULL."""
        return any(argument.type.is_nullable for argument in self.arguments)

    def literal(self, position: int, default: Any = None) -> Any:
        """The value of an argument that is a literal; the default where there is no such argument."""
        if position >= len(self.arguments):
            return default
        argument = self.arguments[position]
        if not argument.is_literal:
            raise call_error(self, f"argument {position + 1} has to be a literal")
        return argument.value


@dataclass(frozen=True)
class Function:
    """A built-in function.

    :param name: the name that SQL has for it.
    :param infer: gives the type of the result, or raises :class:`FunctionError` if it does not take such arguments.
    :param make: gives, for a call whose types are known, the function of the values. With `strict`, it is only called
        where no argument is NULL, and the result is NULL otherwise. Of an aggregate it gives the
        :class:`~firesteel.table.functions.aggregates.Aggregator`, of a function of windows the
        :class:`~firesteel.table.functions.window_functions.WindowFunction`.
    :param lazy: whether it gets, in the place of values, functions that give them from a row: CASE must not look at
        what it does not choose. `make` then gives a function of these, which gives a function of a row.
    """

    name: str
    infer: Callable[[Call], DataType]
    make: Callable[[Call], Any]
    strict: bool = True
    lazy: bool = False
    kind: FunctionKind = FunctionKind.SCALAR
    deterministic: bool = True
    aliases: tuple[str, ...] = ()

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A built-in function travels by its name."""
        if _CATALOGUE.get(self.name.upper()) is self:
            return find_function, (self.name,)
        return super().__reduce__()


_CATALOGUE: dict[str, Function] = {}


def register(function: Function) -> Function:
    """Put a function into the catalogue, under all its names."""
    for name in (function.name, *function.aliases):
        assert name.upper() not in _CATALOGUE, f"two functions are called {name}"
        _CATALOGUE[name.upper()] = function
    return function


_of_session: ContextVar[tuple[Mapping[str, Function], Mapping[str, Function]]] = ContextVar(
    "functions of the session", default=({}, {})
)


@contextmanager
def session_functions(before: Mapping[str, Function], after: Mapping[str, Function]) -> Iterator[None]:
    """Let names mean functions of a session too, some before the built-in ones, some after; keys are in capitals."""
    token = _of_session.set((before, after))
    try:
        yield
    finally:
        _of_session.reset(token)


def find_function(name: str) -> Function:
    """The function of a name, whatever the case of its letters; an error names similar ones."""
    before, after = _of_session.get()
    key = name.upper()
    found = before.get(key) or _CATALOGUE.get(key) or after.get(key)
    if found is None:
        near = difflib.get_close_matches(key, [*before, *_CATALOGUE, *after], 3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise FunctionError(f"there is no function {name}.{hint}")
    return found


def functions() -> list[Function]:
    """All built-in functions, each once, by name."""
    return sorted({id(each): each for each in _CATALOGUE.values()}.values(), key=lambda each: each.name)


def call_error(call: Call, reason: str) -> FunctionError:
    """The error for a call that cannot be, with the types of its arguments."""
    types = ", ".join(map(str, call.types))
    return FunctionError(f"{call.name}({types}): {reason}.")
