"""Functions of users, for SQL and for the Table API."""

from __future__ import annotations

import functools
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.table._expression.base import node_of
from firesteel.table.expression import Expression
from firesteel.table.functions import Call, Function, FunctionKind
from firesteel.table.functions.aggregates import Aggregator
from firesteel.table.functions.definition import call_error
from firesteel.table.sql import parse_data_type
from firesteel.table.tree import Apply
from firesteel.table.types import DataType
from firesteel.table.types.casting import can_cast_implicitly
from firesteel.table.values import from_stored, to_stored

__all__ = [
    "AggregateFunction",
    "FunctionContext",
    "ScalarFunction",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "udaf",
    "udf",
]


class FunctionContext:
    """What a function may ask when it is opened."""

    def __init__(self, job_parameters: dict[str, str] | None = None) -> None:
        self._job_parameters = dict(job_parameters or {})

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job, or another value if it has none of that name."""
        return self._job_parameters.get(key, default_value)


class UserDefinedFunction:
    """A function that is opened before its first call, and closed when it is not needed any more."""

    def open(self, function_context: FunctionContext) -> None:
        """Called once per subtask before the first call."""
        return None

    def close(self) -> None:
        """Called when the operator that calls it is gone."""
        return None

    def is_deterministic(self) -> bool:
        """Whether it always gives the same for the same arguments."""
        return True


class ScalarFunction(UserDefinedFunction, ABC):
    """A function of values of one row."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for these arguments, which are Python values."""


class AggregateFunction(UserDefinedFunction, ABC):
    """An aggregate: values are put into an accumulator, from which the result is read."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """The accumulator of no values: something that can be pickled, and that `accumulate` may change."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Put the values of a row into the accumulator."""

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """The result."""

    def retract(self, accumulator: Any, *args: Any) -> None:
        """Take back the values of a row: needed where rows change."""
        raise NotImplementedError(f"{type(self).__name__} has no retract(), which rows that change need.")

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        """Put what others hold into the accumulator: needed where windows are merged."""
        raise NotImplementedError(f"{type(self).__name__} has no merge().")

    def get_result_type(self) -> DataType | str:
        """The type of the result, if `udaf` was not told."""
        raise NotImplementedError(f"the type of the result of {type(self).__name__} is not known: say result_type.")

    def get_accumulator_type(self) -> DataType | str:
        """The type of the accumulator; it is kept as it is."""
        raise NotImplementedError(f"{type(self).__name__} says no accumulator_type.")


class _Evaluated(ScalarFunction):
    """A plain callable as a function."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def eval(self, *args: Any) -> Any:
        return self._call(*args)


class UserDefinedFunctionWrapper:
    """What `udf` and `udaf` give: called with expressions, it is an expression; registered, SQL knows it."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Expression:
        return Expression(Apply(self.function, tuple(map(node_of, args))))

    def named(self, name: str) -> Function:
        """The function under the name by which SQL knows it."""
        own = self.function
        return Function(name, own.infer, own.make, own.strict, own.lazy, own.kind, own.deterministic)


def _types(given: Any) -> tuple[DataType, ...] | None:
    if given is None:
        return None
    many = given if isinstance(given, (list, tuple)) else [given]
    return tuple(_type(each) for each in many)


def _type(given: DataType | str) -> DataType:
    return parse_data_type(given) if isinstance(given, str) else given


def _infer(inputs: tuple[DataType, ...] | None, result: DataType, call: Call) -> DataType:
    if inputs is not None:
        if len(inputs) != len(call.types):
            raise call_error(call, f"it takes {len(inputs)} arguments")
        for at, (wanted, got) in enumerate(zip(inputs, call.types)):
            if wanted.nullable() != got.nullable() and not can_cast_implicitly(got.nullable(), wanted.nullable()):
                raise call_error(call, f"argument {at + 1} has to be {wanted}")
    return result


def _scalar(function: ScalarFunction, call: Call) -> Callable[..., Any]:
    function.open(FunctionContext())
    assert call.result is not None
    converters = [from_stored(kind) for kind in call.types]
    back = to_stored(call.result.nullable(), call.session.time_zone)
    evaluate = function.eval

    def called(*values: Any) -> Any:
        return back(evaluate(*[convert(value) for convert, value in zip(converters, values)]))

    weakref.finalize(called, function.close)
    return called


class _Aggregator(Aggregator):
    takes_nulls = True

    def __init__(self, function: AggregateFunction, call: Call) -> None:
        function.open(FunctionContext())
        assert call.result is not None
        self._function = function
        self._converters = [from_stored(kind) for kind in call.types]
        self._back = to_stored(call.result.nullable(), call.session.time_zone)
        weakref.finalize(self, function.close)

    def create(self) -> Any:
        return self._function.create_accumulator()

    def _values(self, values: tuple[Any, ...]) -> list[Any]:
        return [convert(value) for convert, value in zip(self._converters, values)]

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        self._function.accumulate(accumulator, *self._values(values))
        return accumulator

    def retract(self, accumulator: Any, *values: Any) -> Any:
        self._function.retract(accumulator, *self._values(values))
        return accumulator

    def merge(self, accumulator: Any, other: Any) -> Any:
        self._function.merge(accumulator, [other])
        return accumulator

    def value(self, accumulator: Any) -> Any:
        return self._back(self._function.get_value(accumulator))


def _name(function: Any, name: str | None) -> str:
    return name or str(getattr(function, "__name__", type(function).__name__))


def udf(
    f: Callable[..., Any] | ScalarFunction | type | None = None,
    input_types: Sequence[DataType | str] | DataType | str | None = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make a function of values of one row, of a callable or a :class:`ScalarFunction`; also as a decorator.

    ::

        @udf(result_type=DataTypes.BIGINT())
        def plus_one(number):
            return number + 1

        table.select(plus_one(col("a")))
        t_env.create_temporary_function("plus_one", plus_one)

    :param input_types: The types of the arguments; any if None.
    :param deterministic: Whether it always gives the same for the same arguments; true if None.
    """
    if f is None:
        return functools.partial(
            udf, input_types=input_types, result_type=result_type, deterministic=deterministic, name=name,
            func_type=func_type,
        )  # fmt: skip
    if func_type != "general":
        raise ConfigurationError(f"udf(): func_type is 'general', got {func_type!r}.")
    if result_type is None:
        raise ConfigurationError("udf(): result_type has to be said: the type of SQL that the values have.")
    function = f() if isinstance(f, type) else f
    if not isinstance(function, ScalarFunction):
        if not callable(function):
            raise ConfigurationError(f"udf() takes a callable or a ScalarFunction, got {f!r}.")
        function = _Evaluated(function)
    made = Function(
        _name(f, name),
        functools.partial(_infer, _types(input_types), _type(result_type)),
        functools.partial(_scalar, function),
        strict=False,
        deterministic=function.is_deterministic() if deterministic is None else deterministic,
    )
    return UserDefinedFunctionWrapper(made)


def udaf(
    f: AggregateFunction | type | None = None,
    input_types: Sequence[DataType | str] | DataType | str | None = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make an aggregate of an :class:`AggregateFunction`; also as a decorator of its class.

    :param accumulator_type: Accumulators are kept as they are, so nothing depends on it.
    """
    if f is None:
        return functools.partial(
            udaf, input_types=input_types, result_type=result_type, accumulator_type=accumulator_type,
            deterministic=deterministic, name=name, func_type=func_type,
        )  # fmt: skip
    if func_type != "general":
        raise ConfigurationError(f"udaf(): func_type is 'general', got {func_type!r}.")
    function = f() if isinstance(f, type) else f
    if not isinstance(function, AggregateFunction):
        raise ConfigurationError(f"udaf() takes an AggregateFunction, got {f!r}.")
    made = Function(
        _name(f, name),
        functools.partial(_infer, _types(input_types), _type(result_type or function.get_result_type())),
        functools.partial(_Aggregator, function),
        strict=False,
        kind=FunctionKind.AGGREGATE,
        deterministic=function.is_deterministic() if deterministic is None else deterministic,
    )
    return UserDefinedFunctionWrapper(made)
