"""Turns what users give the API (a function object, a callable, a generator, a field) into function objects.

Everything is checked here, when the graph is built: an error names the call and the argument and says what
would do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from firesteel.errors import ConfigurationError
from firesteel.model.functions.asynchronous import AsyncFunction
from firesteel.model.functions.base import (
    AggregateFunction,
    Collector,
    DeltaFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from firesteel.model.functions.co import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from firesteel.model.functions.fields import Field
from firesteel.model.functions.process import KeyedProcessFunction, ProcessFunction
from firesteel.model.functions.source_sink import SinkFunction

F = TypeVar("F", bound=Function)
Emitting = Callable[..., Iterable[Any] | None]


def _itself(value: Any) -> Any:
    return value


class ListCollector(Collector):
    """Keeps what a function emits, in order.

    :param own: Called with each record at the moment when it is emitted; gives what is kept.
    """

    __slots__ = ("_own", "values")

    def __init__(self, own: Callable[[Any], Any] = _itself) -> None:
        self._own = own
        self.values: list[Any] = []

    def collect(self, value: Any) -> None:
        """Emit one record."""
        self.values.append(self._own(value))


class _Plain:
    """Mixed into function objects made of plain callables; ``calls`` maps a method's name to the user's callable."""

    def __init__(self, **calls: Callable[..., Any]) -> None:
        self.calls = calls

    def __repr__(self) -> str:
        return ", ".join(map(describe, self.calls.values()))


class _PlainMap(_Plain, MapFunction):
    def map(self, value: Any) -> Any:
        return self.calls["map"](value)


class _PlainFlatMap(_Plain, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[Any] | None:
        return emitting(self, "flat_map", 1)(value)


class _PlainFilter(_Plain, FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(self.calls["filter"](value))


class _PlainReduce(_Plain, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return self.calls["reduce"](value1, value2)


class _PlainAggregate(_Plain, AggregateFunction):
    def create_accumulator(self) -> Any:
        return self.calls["create_accumulator"]()

    def add(self, value: Any, accumulator: Any) -> Any:
        return self.calls["add"](value, accumulator)

    def get_result(self, accumulator: Any) -> Any:
        return self.calls["get_result"](accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        if "merge" not in self.calls:
            raise ConfigurationError(
                "aggregate: windows merge here, but the aggregate was given without a merge function. "
                "Give four functions: (create_accumulator, add, get_result, merge)."
            )
        return self.calls["merge"](acc_a, acc_b)


class _PlainKeySelector(_Plain, KeySelector):
    def get_key(self, value: Any) -> Any:
        return self.calls["get_key"](value)


class _PlainPartitioner(_Plain, Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return int(self.calls["partition"](key, num_partitions))


class _PlainCoMap(_Plain, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return self.calls["map1"](value)

    def map2(self, value: Any) -> Any:
        return self.calls["map2"](value)


class _PlainCoFlatMap(_Plain, CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any] | None:
        return emitting(self, "flat_map1", 1)(value)

    def flat_map2(self, value: Any) -> Iterable[Any] | None:
        return emitting(self, "flat_map2", 1)(value)


class _PlainProcess(_Plain, ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterable[Any] | None:
        return emitting(self, "process_element", 2)(value, ctx)


class _PlainKeyedProcess(_Plain, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any] | None:
        return emitting(self, "process_element", 2)(value, ctx)


class _PlainCoProcess(_Plain, CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        return emitting(self, "process_element1", 2)(value, ctx)

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterable[Any] | None:
        return emitting(self, "process_element2", 2)(value, ctx)


class _PlainKeyedCoProcess(_Plain, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        return emitting(self, "process_element1", 2)(value, ctx)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[Any] | None:
        return emitting(self, "process_element2", 2)(value, ctx)


class _PlainSink(_Plain, SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.calls["invoke"](value)


class _PlainAsync(_Plain, AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        result: list[Any] = await self.calls["async_invoke"](value)
        return result


def bound_call(function: Function, method: str) -> Callable[..., Any]:
    """What to call per record: the user's own callable where there is one, else the bound method.

    Saves the runtime one Python call per record for functions that were given as lambdas.
    """
    if isinstance(function, _Plain) and method in function.calls:
        return function.calls[method]
    bound: Callable[..., Any] = getattr(function, method)
    return bound


def emitting(function: Function, method: str, arity: int, own: Callable[[Any], Any] = _itself) -> Emitting:
    """What to call per record for a method that emits: always takes ``arity`` arguments and returns an
    iterable or None.

    A method (or plain callable) written with one more parameter, the ``out`` collector, is wrapped to do so.

    :param own: What becomes of a record at the moment when it is given to the collector.
    """
    call = bound_call(function, method)
    if takes_collector(call, arity):
        return partial(_collecting, call, own)
    return call


def has_merge(function: AggregateFunction) -> bool:
    """Whether ``merge`` does something. Only windows that merge need it, so many programs leave it empty."""
    merge = bound_call(function, "merge")
    if isinstance(function, _Plain) and merge == function.merge:
        return False
    code = getattr(merge, "__code__", None)
    return code is None or (code.co_code not in _EMPTY_BODIES and "NotImplementedError" not in code.co_names)


def _empty(self: Any, acc_a: Any, acc_b: Any) -> Any:
    pass


def _described(self: Any, acc_a: Any, acc_b: Any) -> Any:
    """Nothing but this."""


_EMPTY_BODIES: Final = frozenset({_empty.__code__.co_code, _described.__code__.co_code})


def takes_collector(call: Callable[..., Any], arity: int) -> bool:
    """Whether a callable needs one argument more than ``arity``: the collector to emit to."""
    required = _required_parameters(call)
    return required is not None and required == arity + 1


def as_map_function(func: Any, where: str = "map") -> MapFunction:
    """A :class:`MapFunction` out of one, or out of a callable from record to record."""
    return _one(func, where, MapFunction, _PlainMap, "map", 1, "a function of one record")


def as_flat_map_function(func: Any, where: str = "flat_map") -> FlatMapFunction:
    """A :class:`FlatMapFunction` out of one, a generator function, a callable that returns an iterable, or
    one that takes a record and a collector.
    """
    expected = "a function of one record that yields or returns an iterable, or of a record and a collector"
    return _one(func, where, FlatMapFunction, _PlainFlatMap, "flat_map", 1, expected, emits=True)


def as_filter_function(func: Any, where: str = "filter") -> FilterFunction:
    """A :class:`FilterFunction` out of one, or out of a callable from record to truth."""
    return _one(func, where, FilterFunction, _PlainFilter, "filter", 1, "a function of one record")


def as_reduce_function(func: Any, where: str = "reduce") -> ReduceFunction:
    """A :class:`ReduceFunction` out of one, or out of a callable of two values."""
    return _one(func, where, ReduceFunction, _PlainReduce, "reduce", 2, "a function of two values")


def as_partitioner(func: Any, where: str = "partition_custom") -> Partitioner:
    """A :class:`Partitioner` out of one, or out of a callable of a key and the number of partitions."""
    expected = "a function of a key and the number of partitions"
    return _one(func, where, Partitioner, _PlainPartitioner, "partition", 2, expected)


def as_key_selector(key: Any, where: str = "key_by") -> KeySelector:
    """A :class:`KeySelector` out of one, a callable, a field name (str), a position (int) or several of
    these (tuple).
    """
    if isinstance(key, (str, int)):
        return _PlainKeySelector(get_key=Field(key, where))
    if isinstance(key, (list, tuple)):
        return _PlainKeySelector(get_key=_CompositeKey(key, where))
    expected = "a function of one record, a field name (str), a position (int) or a tuple of these"
    return _one(key, where, KeySelector, _PlainKeySelector, "get_key", 1, expected, argument="key")


def fields_of_key(select: Callable[[Any], Any]) -> tuple[tuple[str | int, ...], bool] | None:
    """The fields that a key is made of, and whether it is the value of one rather than a tuple; None of functions.

    :param select: From record to key, as :func:`bound_call` gives it.
    """
    if isinstance(select, Field):
        return (select.field,), True
    if isinstance(select, _CompositeKey):
        return select.fields
    return None


def as_aggregate_function(func: Any, where: str = "aggregate") -> AggregateFunction:
    """An :class:`AggregateFunction` out of one, or out of the functions (create_accumulator, add,
    get_result[, merge]).
    """
    if isinstance(func, AggregateFunction):
        return func
    names = ("create_accumulator", "add", "get_result", "merge")
    if not isinstance(func, (tuple, list)) or len(func) not in (3, 4):
        expected = "or a tuple of functions (create_accumulator, add, get_result) or (..., merge)"
        raise _wrong(func, where, "func", AggregateFunction, expected)
    for call, name, arity in zip(func, names, (0, 2, 1, 2), strict=False):
        _check_callable(call, where, name, arity, f"a function of {arity} arguments")
    return _PlainAggregate(**dict(zip(names, func, strict=False)))


def as_co_map_function(func: Any, where: str = "map") -> CoMapFunction:
    """A :class:`CoMapFunction` out of one, or out of a pair of callables, one per input."""
    return _pair(func, where, CoMapFunction, _PlainCoMap, ("map1", "map2"), 1)


def as_co_flat_map_function(func: Any, where: str = "flat_map") -> CoFlatMapFunction:
    """A :class:`CoFlatMapFunction` out of one, or out of a pair of callables, one per input."""
    return _pair(func, where, CoFlatMapFunction, _PlainCoFlatMap, ("flat_map1", "flat_map2"), 1, emits=True)


def as_process_function(func: Any, keyed: bool, where: str = "process") -> ProcessFunction | KeyedProcessFunction:
    """A process function out of one, or out of a callable of record and context (and collector).

    :param keyed: Whether the stream is keyed. A plain :class:`ProcessFunction` on a keyed stream is fine.
    """
    expected = "a function of a record and a context that yields or returns an iterable"
    if keyed and not isinstance(func, ProcessFunction):
        made = _PlainKeyedProcess
        return _one(func, where, KeyedProcessFunction, made, "process_element", 2, expected, emits=True)
    if isinstance(func, KeyedProcessFunction):
        raise ConfigurationError(
            f"{where}: {describe(func)} is a KeyedProcessFunction, but the stream has no keys. "
            "Call key_by() first, or write a ProcessFunction."
        )
    return _one(func, where, ProcessFunction, _PlainProcess, "process_element", 2, expected, emits=True)


def as_co_process_function(
    func: Any, keyed: bool, where: str = "process"
) -> CoProcessFunction | KeyedCoProcessFunction:
    """A process function for connected streams out of one, or out of a pair of callables of record and context."""
    methods = ("process_element1", "process_element2")
    if keyed and not isinstance(func, CoProcessFunction):
        return _pair(func, where, KeyedCoProcessFunction, _PlainKeyedCoProcess, methods, 2, emits=True)
    if isinstance(func, KeyedCoProcessFunction):
        raise ConfigurationError(
            f"{where}: {describe(func)} is a KeyedCoProcessFunction, but the streams have no keys. "
            "Key both streams alike with key_by(), or write a CoProcessFunction."
        )
    return _pair(func, where, CoProcessFunction, _PlainCoProcess, methods, 2, emits=True)


def as_sink_function(func: Any, where: str = "add_sink") -> SinkFunction:
    """A :class:`SinkFunction` out of one, or out of a callable of one record."""
    return _one(func, where, SinkFunction, _PlainSink, "invoke", 1, "a function of one record")


def as_async_function(func: Any, where: str = "async_function") -> AsyncFunction[Any, Any]:
    """An :class:`AsyncFunction` out of one, or out of an ``async def`` of one record that returns a list."""
    if isinstance(func, AsyncFunction):
        return func
    if not inspect.iscoroutinefunction(func):
        raise _wrong(
            func,
            where,
            "async_function",
            AsyncFunction,
            "or an 'async def' of one record that returns a list",
        )
    _check_callable(func, where, "async_function", 1, "an async function of one record", coroutine=True)
    return _PlainAsync(async_invoke=func)


def as_delta(func: Any, where: str) -> Callable[[Any, Any], float]:
    """A callable of two records out of a :class:`DeltaFunction` or a callable."""
    if isinstance(func, DeltaFunction):
        return func.get_delta
    _check_callable(func, where, "delta_function", 2, "a DeltaFunction or a function of two records")
    call: Callable[[Any, Any], float] = func
    return call


def expect_function(func: Any, where: str, argument: str, *kinds: type[Any]) -> Any:
    """Check that a function that must be given as an object is one of ``kinds``; returns it."""
    if not isinstance(func, kinds):
        raise _wrong(func, where, argument, kinds[0], *(f"or a {kind.__name__}" for kind in kinds[1:]))
    return func


def describe(func: Any) -> str:
    """A short name of a function for messages: where a lambda was written, or the class of a function object."""
    if isinstance(func, _Plain):
        return repr(func)
    if isinstance(func, partial):
        return f"partial of {describe(func.func)}"
    code = getattr(func, "__code__", None)
    if code is not None:
        return f"{func.__qualname__} ({code.co_filename}:{code.co_firstlineno})"
    if inspect.isclass(func):
        return f"class {func.__qualname__}"
    return str(getattr(func, "__qualname__", None) or type(func).__qualname__)


class _CompositeKey:
    """Several key parts as one tuple."""

    def __init__(self, parts: Sequence[Any], where: str) -> None:
        if not parts:
            raise ConfigurationError(f"{where}: key must name at least one field, got an empty {type(parts).__name__}.")
        self._parts = [bound_call(as_key_selector(part, where), "get_key") for part in parts]

    @property
    def fields(self) -> tuple[tuple[str | int, ...], bool] | None:
        """The fields, if all parts are fields."""
        found = [part.field for part in self._parts if isinstance(part, Field)]
        return (tuple(found), False) if len(found) == len(self._parts) else None

    def __call__(self, value: Any) -> tuple[Any, ...]:
        return tuple([part(value) for part in self._parts])


def _collecting(call: Callable[..., Any], own: Callable[[Any], Any], *arguments: Any) -> list[Any]:
    out = ListCollector(own)
    call(*arguments, out)
    return out.values


def _one(
    func: Any,
    where: str,
    kind: type[Any],
    made: Callable[..., F],
    method: str,
    arity: int,
    expected: str,
    *,
    emits: bool = False,
    argument: str = "func",
) -> F:
    """A function object of ``kind``: the one given, or one made of a plain callable after checking it."""
    if isinstance(func, kind):
        given: F = func
        return given
    if isinstance(func, Function):
        raise _wrong(func, where, argument, kind, f"or {expected}")
    _check_callable(func, where, argument, arity, f"a {kind.__name__} or {expected}", emits)
    return made(**{method: func})


def _pair(
    func: Any,
    where: str,
    kind: type[Any],
    made: Callable[..., F],
    methods: tuple[str, str],
    arity: int,
    *,
    emits: bool = False,
) -> F:
    """A function object with one method per input: the one given, or one made of a pair of callables."""
    if isinstance(func, kind):
        given: F = func
        return given
    if not isinstance(func, (tuple, list)) or len(func) != 2:
        raise _wrong(func, where, "func", kind, "or a pair of functions, one for each input")
    for number, call in enumerate(func):
        _check_callable(call, where, f"func[{number}]", arity, f"a function for input {number + 1}", emits)
    return made(**dict(zip(methods, func, strict=True)))


def _wrong(func: Any, where: str, argument: str, kind: type[Any], *expected: str) -> ConfigurationError:
    wanted = " ".join([f"a {kind.__name__}", *expected])
    if inspect.isclass(func) and issubclass(func, Function):
        hint = f" Give an instance: {func.__name__}()."
    else:
        hint = ""
    return ConfigurationError(f"{where}: {argument} must be {wanted}; got {_shown(func)}.{hint}")


def _shown(func: Any) -> str:
    return describe(func) if callable(func) or isinstance(func, Function) else f"{func!r:.80}"


def _check_callable(
    func: Any,
    where: str,
    argument: str,
    arity: int,
    expected: str,
    emits: bool = False,
    coroutine: bool = False,
) -> None:
    """Raise unless ``func`` can be called with ``arity`` arguments (or one more, the collector, if it ``emits``)."""
    if inspect.isclass(func) and issubclass(func, Function):
        raise ConfigurationError(
            f"{where}: {argument} is the class {func.__name__}; give an instance: {func.__name__}()."
        )
    if not callable(func):
        raise ConfigurationError(f"{where}: {argument} must be {expected}; got {_shown(func)}.")
    if inspect.iscoroutinefunction(func) and not coroutine:
        raise ConfigurationError(
            f"{where}: {argument} must be {expected}; got the async function {describe(func)}. "
            "Use AsyncDataStream.unordered_wait() for functions that wait."
        )
    if inspect.isgeneratorfunction(func) and not emits:
        raise ConfigurationError(
            f"{where}: {argument} must return one value; got the generator function {describe(func)}. "
            "Use flat_map() or process() to emit any number of records."
        )
    if not (_accepts(func, arity) or (emits and _accepts(func, arity + 1))):
        raise ConfigurationError(
            f"{where}: {argument} must be {expected}; {describe(func)} cannot be called with "
            f"{arity} argument{'' if arity == 1 else 's'}."
        )


def _accepts(func: Callable[..., Any], arity: int) -> bool:
    try:
        signature = inspect.signature(func)
    except (TypeError, ValueError):
        return True  # built-ins that do not tell: calling them will
    try:
        signature.bind(*[None] * arity)
    except TypeError:
        return False
    return True


def _required_parameters(call: Callable[..., Any]) -> int | None:
    """How many positional arguments a callable needs; None if it does not tell."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for each in parameters if each.kind in positional and each.default is inspect.Parameter.empty)
