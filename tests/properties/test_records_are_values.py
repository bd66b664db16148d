"""Programs whose functions change what they get, keep and have emitted give what deep copies everywhere would give."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration, Types
from firesteel.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor

Step = tuple[str, Callable[[Any], Any]]


class Appending(MapFunction):
    """Returns its input after changing it, and changes the one before it once more."""

    def open(self, runtime_context: RuntimeContext | None) -> None:
        self.last: list[Any] = []

    def map(self, value: list[Any]) -> list[Any]:
        self.last.append("later")
        value.append("mapped")
        self.last = value
        return value


class Growing(FlatMapFunction):
    """Emits one list again and again, changing it between and after."""

    def open(self, runtime_context: RuntimeContext | None) -> None:
        self.seen: list[Any] = []

    def flat_map(self, value: list[Any]) -> Iterator[Any]:
        self.seen.append(value[0])
        yield self.seen
        value.append(len(self.seen))
        yield value
        yield value
        self.seen.append("flat")


class Keeping(FilterFunction):
    """Changes the record that it let pass before."""

    def open(self, runtime_context: RuntimeContext | None) -> None:
        self.last: list[Any] = []

    def filter(self, value: list[Any]) -> bool:
        self.last.append("filtered")
        self.last = value
        return len(value) % 3 != 0


class Remembering(KeyedProcessFunction):
    """Emits its state, and changes it afterwards, together with update()."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: list[Any], ctx: Any) -> Iterator[Any]:
        known = self.state.value() or [value[0]]
        known.append(len(value))
        self.state.update(known)
        yield known
        known.append("kept")
        self.state.update(known)
        yield value


class Merging(ReduceFunction):
    """Changes both arguments."""

    def reduce(self, value1: list[Any], value2: list[Any]) -> list[Any]:
        value1.append(len(value2))
        value2.append("reduced")
        return value1


def key_of(value: list[Any]) -> Any:
    return value[0]


def on_stream(stream: Any, steps: list[str]) -> Any:
    for step in steps:
        if step == "map":
            stream = stream.map(Appending())
        elif step == "flat_map":
            stream = stream.flat_map(Growing())
        elif step == "filter":
            stream = stream.filter(Keeping())
        elif step == "process":
            stream = stream.key_by(key_of).process(Remembering())
        elif step == "reduce":
            stream = stream.key_by(key_of).reduce(Merging())
        elif step == "fork":  # two consumers, one of which changes the records; the other's come after it
            stream = stream.map(Appending()).union(stream.map(lambda value: value))
    return stream


# ---- the model: one record at a time, a deep copy at every step ------------------------------------------------------


class OneValue:
    """Value state per key."""

    def __init__(self) -> None:
        self.values: dict[Any, Any] = {}
        self.key: Any = None

    def value(self) -> Any:
        return self.values.get(self.key)

    def update(self, value: Any) -> None:
        self.values[self.key] = value


def model(records: list[Any], steps: list[str]) -> list[Any]:
    for step in steps:
        records = list(MODELS[step](copy.deepcopy(records)))
    return records


def model_map(records: list[Any]) -> Iterator[Any]:
    function = Appending()
    function.open(None)
    for record in records:
        yield copy.deepcopy(function.map(record))


def model_flat_map(records: list[Any]) -> Iterator[Any]:
    function = Growing()
    function.open(None)
    for record in records:
        for result in function.flat_map(record):
            yield copy.deepcopy(result)


def model_filter(records: list[Any]) -> Iterator[Any]:
    function = Keeping()
    function.open(None)
    for record in records:
        if function.filter(record):
            yield copy.deepcopy(record)


def model_process(records: list[Any]) -> Iterator[Any]:
    function = Remembering()
    function.state = state = OneValue()
    for record in records:
        state.key = record[0]
        for result in function.process_element(record, None):
            yield copy.deepcopy(result)


def model_reduce(records: list[Any]) -> Iterator[Any]:
    totals: dict[Any, Any] = {}
    for record in records:
        key = record[0]
        totals[key] = Merging().reduce(totals[key], record) if key in totals else record
        yield copy.deepcopy(totals[key])


def model_fork(records: list[Any]) -> Iterator[Any]:
    yield from model_map(copy.deepcopy(records))
    yield from records


MODELS = {
    "map": model_map,
    "flat_map": model_flat_map,
    "filter": model_filter,
    "process": model_process,
    "reduce": model_reduce,
    "fork": model_fork,
}


def run(
    records: list[Any], steps: list[str], options: dict[str, Any], parallelism: int, spark: Any = None
) -> list[Any]:
    configuration = Configuration.from_dict({"execution.target": "spark" if spark else "in-process", **options})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark=spark)
    env.set_parallelism(parallelism)
    with on_stream(env.from_collection(records), steps).execute_and_collect() as results:
        return list(results)


records_strategy = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=6)
linear = st.lists(st.sampled_from(["map", "flat_map", "filter", "process", "reduce"]), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(records_strategy, linear, st.sampled_from([1, 2, 1000]))
def test_changing_functions_give_what_deep_copies_give(records: list[Any], steps: list[str], epoch: int) -> None:
    given_records = copy.deepcopy(records)
    assert run(records, steps, {"firesteel.epoch.max-records": epoch}, 1) == model(given_records, steps)
    assert records == given_records


@settings(max_examples=30, deadline=None)
@given(records_strategy, st.lists(st.sampled_from(["map", "filter", "fork"]), min_size=1, max_size=3))
def test_forks_do_not_see_each_other(records: list[Any], steps: list[str]) -> None:
    # A union has no order of its own: behind the first fork only what each branch does by itself is compared.
    steps = [*[step for step in steps if step != "fork"], "fork"]
    assert sorted(map(str, run(records, steps, {}, 1))) == sorted(map(str, model(records, steps)))


@pytest.mark.parametrize("parallelism", [1, 2])
def test_the_same_on_spark(spark: Any, parallelism: int) -> None:
    records = [[0], [1, 1], [0, 2], [1], [0, 0, 0]]
    steps = ["map", "process", "filter", "reduce"]
    made = run(records, steps, {"firesteel.epoch.max-records": 2}, parallelism, spark)
    by_key = [[value for value in made if key_of(value) == key] for key in (0, 1)]
    expected = model(records, steps) if parallelism == 1 else run(records, steps, {}, 2)
    assert by_key == [[value for value in expected if key_of(value) == key] for key in (0, 1)]
