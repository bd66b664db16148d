"""Process functions give the same results on the quick path, where the process has no tag, as on the other one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.errors import JobFailedError


class Sums(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        total = (self.total.value() or 0) + value
        self.total.update(total)
        if value % 3:
            yield ctx.get_current_key(), total, ctx.timestamp()
        if value % 5 == 0:
            yield "extra", value


def some_return_nothing(value: int, ctx: KeyedProcessFunction.Context) -> list[int] | None:
    return [value, -value] if value % 2 else None


def makes_a_tag_on_the_way(value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
    yield value
    if value % 10 == 7:
        yield OutputTag("sevens"), value


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process", "parallelism.default": "1"})
    )


def results_of(function: Any, stamped: bool) -> list[Any]:
    numbers = environment().from_collection(list(range(100)))
    if stamped:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value * 10)
        numbers = numbers.assign_timestamps_and_watermarks(strategy)
    with numbers.key_by(lambda value: value % 7).process(function).execute_and_collect() as results:
        return list(results)


@pytest.mark.parametrize("stamped", [False, True])
@pytest.mark.parametrize("make", [Sums, lambda: some_return_nothing])
def test_both_paths_give_the_same(monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any], stamped: bool) -> None:
    monkeypatch.setattr(OutputTag, "made", True)
    looking_for_tags = results_of(make(), stamped)
    monkeypatch.setattr(OutputTag, "made", False)
    quick = results_of(make(), stamped)
    assert quick == looking_for_tags
    assert len(quick) >= 50
    assert not OutputTag.made


@pytest.mark.filterwarnings("ignore:.*which nobody reads")
def test_the_first_tag_of_a_process_is_noticed_in_the_very_batch_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OutputTag, "made", False)
    assert results_of(makes_a_tag_on_the_way, stamped=False) == list(range(100))
    assert OutputTag.made


def test_the_quick_path_knows_which_record_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield 100 // (value - 41)

    monkeypatch.setattr(OutputTag, "made", False)
    with pytest.raises(JobFailedError, match="41"):
        results_of(fails, stamped=False)
