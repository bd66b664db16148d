from __future__ import annotations

import pickle
from functools import partial

import pytest

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model import functions
from firesteel.model.functions import AsyncRetryStrategy, InputSelection
from firesteel.model.functions.asynchronous import (
    NO_RETRY_STRATEGY,
    RetryPredicate,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

RICH = {name: getattr(functions, name) for name in functions.__all__ if name.startswith("Rich")}


@pytest.mark.parametrize("name", sorted(RICH))
def test_every_rich_name_is_the_plain_function(name):
    plain = getattr(functions, name.removeprefix("Rich"))
    assert issubclass(RICH[name], plain)
    assert issubclass(plain, functions.Function)


CONCRETE = {"Function", "RichFunction", "BaseBroadcastProcessFunction"}  # nothing but open and close


@pytest.mark.parametrize(
    "name", [name for name in functions.__all__ if name.endswith("Function") and name not in CONCRETE]
)
def test_functions_without_their_methods_cannot_be_made(name):
    with pytest.raises(TypeError, match="abstract"):
        getattr(functions, name)()


class Counter(functions.MapFunction):
    def __init__(self):
        """Does not call the base class, as users will not."""

    def open(self, runtime_context):
        self.opened = self.get_runtime_context() is runtime_context

    def map(self, value):
        return value


def test_the_runtime_context_is_there_from_open_on():
    function, context = Counter(), object()
    with pytest.raises(ProgramError, match=r"Counter\.get_runtime_context.*open"):
        function.get_runtime_context()
    function.set_runtime_context(context)
    function.open(context)
    assert function.opened
    function.close()
    assert isinstance(pickle.loads(pickle.dumps(Counter())), Counter)


def test_on_timer_and_clear_do_nothing_unless_written():
    class Keyed(functions.KeyedProcessFunction):
        def process_element(self, value, ctx): ...

    class Windowed(functions.ProcessWindowFunction):
        def process(self, key, context, elements): ...

    assert Keyed().on_timer(5, None) is None
    assert Windowed().clear(None) is None


def test_input_selections():
    assert InputSelection.Builder().select(1).build() == InputSelection.FIRST
    assert InputSelection.Builder().select(2).select(1).build() == InputSelection.ALL
    assert [InputSelection.SECOND.is_input_selected(number) for number in (1, 2)] == [False, True]
    assert InputSelection.ALL.are_all_inputs_selected()
    assert not InputSelection.FIRST.are_all_inputs_selected()
    assert len({InputSelection.ALL, InputSelection(2, 1), InputSelection.FIRST}) == 2
    assert repr(InputSelection.ALL) == "InputSelection(1, 2)"
    with pytest.raises(ConfigurationError, match="inputs 1 and 2, got 3"):
        InputSelection.Builder().select(3)
    with pytest.raises(ConfigurationError, match="no input was selected"):
        InputSelection.Builder().build()


def test_no_retry():
    strategy = AsyncRetryStrategy.no_restart()
    assert strategy is NO_RETRY_STRATEGY
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    assert strategy.get_retry_predicate().result_predicate() is None


def test_fixed_delay_retry():
    strategy = AsyncRetryStrategy.fixed_delay(2, 50, empty_result_predicate, has_exception_predicate)
    assert [strategy.can_retry(attempts) for attempts in (1, 2, 3)] == [True, True, False]
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2)] == [50, 50]
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate()([]) is True
    assert predicate.exception_predicate()(ValueError()) is True


def test_exponential_backoff_grows_to_its_limit_whatever_was_asked_before():
    strategy = AsyncRetryStrategy.exponential_backoff(9, 10, 75, 2.0)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4, 5)] == [10, 20, 40, 75, 75]
    assert strategy.get_backoff_time_millis(2) == 20
    assert [strategy.can_retry(attempts) for attempts in (9, 10)] == [True, False]


def test_predicates():
    assert empty_result_predicate([])
    assert not empty_result_predicate([0])
    assert has_exception_predicate(ValueError())
    assert not has_exception_predicate(None)
    io_error = partial(exception_type_predicate, expected_error_type=OSError)
    assert io_error(ConnectionError())
    assert not io_error(ValueError())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AsyncRetryStrategy.fixed_delay(0, 5), "max_attempts"),
        (lambda: AsyncRetryStrategy.fixed_delay(1, -5), "backoff_time_millis"),
        (lambda: AsyncRetryStrategy.exponential_backoff(1, 0, 5, 2), "initial_delay"),
        (lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 0, 2), "max_retry_delay"),
        (lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 5, 0), "multiplier"),
        (lambda: RetryPredicate(5, None), "result_predicate"),
        (lambda: RetryPredicate(None, 5), "exception_predicate"),
    ],
)
def test_wrong_retry_settings_are_named(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()
