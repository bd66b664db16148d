"""Functions that wait for something outside, and how their failures are retried."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from firesteel.errors import ConfigurationError
from firesteel.model.functions.base import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")

ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[BaseException], bool]


class AsyncFunction(Function, Generic[IN, OUT]):
    """Looks something up per record without making the other records wait.

    The calls of one subtask run on one event loop in one thread, as many at a time as the capacity allows.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Called once per record, and once more for each retry; returns the results as a list, which may be empty."""

    def timeout(self, value: IN) -> list[OUT]:
        """Called once for a record that has no result when its time is up; returns the results to emit instead.

        Raises ``TimeoutError``, which fails the job, unless overridden.
        """
        raise TimeoutError(f"The asynchronous call for the record {value!r:.200} has timed out.")


class RichAsyncFunction(AsyncFunction[Any, Any]):
    """Flink's name for an :class:`AsyncFunction` that uses ``open`` and ``close``."""


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Decides from its outcome whether a call is tried again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Says for a result whether to try again; None: never because of a result."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Says for an exception whether to try again; None: never because of an exception."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often, how long apart and in which cases a call is tried again. One object serves all records at once."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether the call may be tried again after this many tries, 1 after the first."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next try, in milliseconds; -1 if there is none."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """In which cases the call is tried again."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never try again."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy[Any]:
        """Try again up to ``max_attempts`` times, always the same time apart."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> AsyncRetryStrategy[Any]:
        """Try again up to ``max_attempts`` times, each time ``multiplier`` times later, at most ``max_retry_delay``."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[Any]):
    """Two predicates as one object.

    :param result_predicate: Whether to try again because of a result, or None.
    :param exception_predicate: Whether to try again because of an exception, or None.
    """

    def __init__(
        self, result_predicate: ResultPredicate | None, exception_predicate: ExceptionPredicate | None
    ) -> None:
        _check_predicate("result_predicate", result_predicate)
        _check_predicate("exception_predicate", exception_predicate)
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[Any]):
    """Never tries again."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[Any]:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[Any]):
    """Tries again up to ``max_attempts`` times, always ``backoff_time_millis`` apart."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        _check_positive(type(self).__name__, max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[Any]:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[Any]):
    """Tries again up to ``max_attempts`` times: first after ``initial_delay``, then ever later."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        _check_positive(
            type(self).__name__,
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        # Computed from the attempt and not from the last delay: one strategy serves many records at the same
        # time.
        if current_attempts <= 1:
            return self._initial_delay
        delay: float = self._initial_delay
        for _ in range(current_attempts - 1):
            delay = min(delay * self._multiplier, self._max_retry_delay)
        return int(delay)

    def get_retry_predicate(self) -> AsyncRetryPredicate[Any]:
        return self._predicate


NO_RETRY_STRATEGY = NoRetryStrategy()
"""The strategy that never tries again."""


def empty_result_predicate(result: list[Any]) -> bool:
    """True for a result without records; for ``result_predicate``."""
    return not result


def has_exception_predicate(error: BaseException | None) -> bool:
    """True for any exception; for ``exception_predicate``."""
    return error is not None


def exception_type_predicate(error: BaseException, expected_error_type: type[BaseException]) -> bool:
    """Whether ``error`` is of the expected type.

    As ``exception_predicate`` give
    ``functools.partial(exception_type_predicate, expected_error_type=ConnectionError)``.
    """
    return isinstance(error, expected_error_type)


def _check_positive(where: str, **arguments: float) -> None:
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise ConfigurationError(f"{where}: {name} must be a number greater than 0, got {value!r}.")


def _check_predicate(name: str, predicate: Any) -> None:
    if predicate is not None and not callable(predicate):
        raise ConfigurationError(f"Retry: {name} must be a callable or None, got {predicate!r}.")
