"""DataSet programs, in this process and on Spark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from firesteel.common.io import InputFormat
from firesteel.dataset import (
    Aggregations,
    AverageAccumulator,
    ConvergenceCriterion,
    DataSet,
    ExecutionEnvironment,
    GroupReduceFunction,
    JoinHint,
    LongSumAggregator,
    Order,
    OutputFormat,
    RichMapFunction,
    RichReduceFunction,
    WriteMode,
)
from firesteel.errors import JobFailedError, ProgramError, SerializationError
from tests.features.executors import MakeBatchEnv, on_both, on_each

TEXT = "to be or not to be\nthat is the question\n"


@pytest.fixture
def env(make_batch_env: MakeBatchEnv) -> ExecutionEnvironment:
    return make_batch_env()


class Word(NamedTuple):
    text: str
    count: int


@dataclass
class Person:
    name: str
    age: int


@pytest.mark.feature("DA-01")
@on_each("parallelism", [1, 2, 4], on_spark=[2])
def test_word_count_over_a_file(make_batch_env: MakeBatchEnv, tmp_path: Path, parallelism: int) -> None:
    (tmp_path / "text").write_text(TEXT)
    lines = make_batch_env(parallelism).read_text_file(str(tmp_path / "text"))
    words = lines.flat_map(lambda line, out: [out.collect((word, 1)) for word in line.split()] and None)
    assert dict(words.group_by(0).sum(1).collect()) == Counter(TEXT.split())
    assert dict(words.group_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).collect()) == Counter(
        TEXT.split()
    )


def test_elements_keep_their_order(env: ExecutionEnvironment) -> None:
    numbers = env.from_elements(3, 1, 2)
    assert numbers.map(lambda n: n * 10).filter(lambda n: n != 10).collect() == [30, 20]
    assert numbers.count() == 3
    assert env.from_collection([]).collect() == []


@pytest.mark.feature("DA-01")
def test_aggregations(env: ExecutionEnvironment) -> None:
    data = env.from_elements(("a", 1, 5), ("b", 4, 1), ("a", 3, 2))
    assert sorted(data.group_by(0).aggregate(Aggregations.SUM, 1).and_(Aggregations.MAX, 2).collect()) == [
        ("a", 4, 5),
        ("b", 4, 1),
    ]
    assert [(row[1], row[2]) for row in data.min(2).and_(Aggregations.SUM, 1).collect()] == [(8, 1)]
    assert data.max_by(1).collect() == [("b", 4, 1)]
    assert sorted(data.group_by(0).min_by(2).collect()) == [("a", 3, 2), ("b", 4, 1)]
    assert data.reduce(lambda one, other: ("", one[1] + other[1], 0)).collect() == [("", 8, 0)]
    assert env.from_collection([]).reduce(max).collect() == []


def test_records_with_named_fields(env: ExecutionEnvironment) -> None:
    words = env.from_elements(Word("a", 1), Word("b", 2), Word("a", 3))
    assert sorted(words.group_by("text").sum("count").collect()) == [Word("a", 4), Word("b", 2)]
    people = env.from_elements(Person("Ada", 36), Person("Bob", 3))
    assert people.max_by("age").collect() == [Person("Ada", 36)]
    assert sorted(people.project("name").collect()) == [("Ada",), ("Bob",)]


@on_both
def test_sorted_groups_and_first(env: ExecutionEnvironment) -> None:
    data = env.from_collection([(number % 2, number) for number in range(10)])
    assert sorted(data.group_by(0).sort_group(1, Order.DESCENDING).first(2).collect()) == [
        (0, 6),
        (0, 8),
        (1, 7),
        (1, 9),
    ]
    assert len(data.first(3).collect()) == 3
    assert sorted(data.distinct(0).map(lambda pair: pair[0]).collect()) == [0, 1]


class Longest(GroupReduceFunction):
    def combine(self, values: Iterable[Any]) -> Iterator[Any]:
        yield max(values, key=lambda word: (len(word), word))

    def reduce(self, values: Iterable[Any]) -> Iterator[Any]:
        yield max(values, key=lambda word: (len(word), word))


@on_both
def test_group_reduce_with_a_combiner(env: ExecutionEnvironment) -> None:
    words = env.from_collection(TEXT.split())
    assert words.reduce_group(Longest()).collect() == ["question"]
    assert dict(
        words.group_by(lambda word: word[0]).reduce_group(Longest()).map(lambda word: (word[0], word)).collect()
    ) == {"t": "that", "b": "be", "o": "or", "n": "not", "i": "is", "q": "question"}
    assert sum(words.combine_group(lambda values: [len(list(values))]).collect()) == len(TEXT.split())


ORDERS = [(1, "ink"), (2, "pen"), (2, "cup"), (4, "hat")]
PEOPLE = [(1, "Ada"), (2, "Bob"), (3, "Cid")]
ALONE: dict[str, list[Any]] = {
    "join": [],
    "left_outer_join": [("Cid", None)],
    "right_outer_join": [(None, "hat")],
    "full_outer_join": [("Cid", None), (None, "hat")],
}
HINTS = [JoinHint.OPTIMIZER_CHOOSES, JoinHint.REPARTITION_HASH_FIRST, JoinHint.REPARTITION_SORT_MERGE]


@pytest.mark.feature("DA-02")
@on_each(("join", "hint"), list(product(ALONE, HINTS)), on_spark=[("full_outer_join", hint) for hint in HINTS])
def test_joins(env: ExecutionEnvironment, join: str, hint: JoinHint) -> None:
    people, orders = env.from_collection(PEOPLE), env.from_collection(ORDERS)
    joined = getattr(people, join)(orders, hint).where(0).equal_to(0)
    found = joined.with_(lambda person, order: (person and person[1], order and order[1])).collect()
    assert Counter(found) == Counter([("Ada", "ink"), ("Bob", "pen"), ("Bob", "cup"), *ALONE[join]])


@on_both
@pytest.mark.feature("DA-02")
def test_joins_with_small_sets_projections_and_several_results(env: ExecutionEnvironment) -> None:
    people, orders = env.from_collection(PEOPLE), env.from_collection(ORDERS)
    assert sorted(orders.join_with_tiny(people).where(0).equal_to(0).project_second(1).project_first(1).collect()) == [
        ("Ada", "ink"),
        ("Bob", "cup"),
        ("Bob", "pen"),
    ]
    letters = (
        people.join_with_huge(orders).where(0).equal_to(0).with_(lambda person, order, out: out.collect(order[1][0]))
    )
    assert sorted(letters.collect()) == ["c", "i", "p"]
    itself = orders.join(orders, JoinHint.REPARTITION_HASH_SECOND).where(0).equal_to(0)
    assert itself.count() == 6


@on_both
@pytest.mark.feature("DA-03")
def test_co_group_has_empty_sides_too(env: ExecutionEnvironment) -> None:
    people, orders = env.from_collection(PEOPLE), env.from_collection(ORDERS)
    grouped = people.co_group(orders).where(0).equal_to(0).sort_second_group(1)
    found = grouped.with_(lambda persons, items: [([p[1] for p in persons], [item[1] for item in items])]).collect()
    expected: list[Any] = [(["Ada"], ["ink"]), (["Bob"], ["cup", "pen"]), (["Cid"], []), ([], ["hat"])]
    assert sorted(found, key=str) == sorted(expected, key=str)


@on_both
def test_cross_and_union(env: ExecutionEnvironment) -> None:
    small, large = env.from_elements(1, 2), env.from_elements(10, 20, 30)
    for crossed in (small.cross(large), small.cross_with_tiny(large), small.cross_with_huge(large)):
        assert sorted(crossed.with_(lambda one, other: one * other).collect()) == [10, 20, 20, 30, 40, 60]
    assert sorted(small.union(large).union(small).collect()) == [1, 1, 2, 2, 10, 20, 30]


@on_both
def test_partitions(env: ExecutionEnvironment) -> None:
    numbers = env.generate_sequence(1, 100)
    ranges = numbers.partition_by_range().map_partition(lambda values: [sorted(values)]).collect()
    assert [number for part in ranges for number in part] == list(range(1, 101))
    assert len(ranges) == 2 and all(ranges)
    odd = numbers.partition_custom(lambda key, tasks: key % tasks, lambda number: number)
    assert odd.map_partition(lambda values: [{number % 2 for number in values}]).collect() == [{0}, {1}]
    dealt = (
        env.from_elements(*range(90)).set_parallelism(1).rebalance().map_partition(lambda values: [len(list(values))])
    )
    assert sorted(dealt.collect()) == [45, 45]
    assert numbers.sort_partition(lambda n: n % 10, Order.DESCENDING).set_parallelism(1).collect()[:2] == [9, 19]


@on_both
@pytest.mark.feature("DA-04")
def test_bulk_iteration_estimates_pi(env: ExecutionEnvironment) -> None:
    darts = 2000

    def thrown(state: tuple[int, int]) -> tuple[int, int]:
        number, hits = state
        x, y = (number * 0.618033988749895) % 1, (number * 0.754877666246693) % 1
        return number + 1, hits + (x * x + y * y < 1)

    begin = env.from_elements((0, 0)).iterate(darts)
    ((number, hits),) = begin.close_with(begin.map(thrown)).collect()
    assert number == darts, "so many supersteps"
    assert 4 * hits / number == pytest.approx(math.pi, abs=0.05)


class Superstep(RichMapFunction):
    def open(self, runtime_context: Any) -> None:
        self.superstep = runtime_context.get_iteration_runtime_context().get_superstep_number()

    def map(self, value: tuple[int, int]) -> tuple[int, int]:
        return value[0] // 2, self.superstep


@on_both
@pytest.mark.feature("DA-04")
def test_a_bulk_iteration_stops_when_its_criterion_is_empty(env: ExecutionEnvironment) -> None:
    begin = env.from_elements((9, 0), (3, 0)).iterate(50)
    halved = begin.map(Superstep())
    result = begin.close_with(halved, halved.filter(lambda value: value[0] > 0))
    assert result.collect() == [(0, 4), (0, 4)]


@on_both
def test_an_iteration_with_exchanges_and_a_long_history(env: ExecutionEnvironment) -> None:
    begin = env.from_collection([(number, number) for number in range(4)]).iterate(13)
    turned = begin.map(lambda pair: ((pair[0] + 1) % 4, pair[1])).group_by(0).reduce(lambda one, other: one)
    assert sorted(begin.close_with(turned).collect()) == [(number, (number - 13) % 4) for number in range(4)]


class Moved(RichMapFunction):
    def open(self, runtime_context: Any) -> None:
        iteration = runtime_context.get_iteration_runtime_context()
        self.sum = iteration.get_iteration_aggregator("sum")
        self.before = iteration.get_previous_iteration_aggregate("sum")

    def map(self, value: int) -> int:
        self.sum.aggregate(value)
        return value + (self.before or 0)


class Above(ConvergenceCriterion):
    def is_converged(self, iteration: int, value: Any) -> bool:
        return bool(value > 10)


@on_both
def test_aggregators_are_seen_in_the_next_superstep_and_end_the_iteration(env: ExecutionEnvironment) -> None:
    begin = env.from_elements(1, 2).iterate(100)
    begin.register_aggregation_convergence_criterion("sum", LongSumAggregator(), Above())
    values, total, before = [1, 2], 0, 0
    for _ in range(100):
        total = sum(values)
        values, before = [value + before for value in values], total
        if total > 10:
            break
    assert sorted(begin.close_with(begin.map(Moved())).collect()) == sorted(values)


class Counted(RichMapFunction):
    """Counts in an aggregator and in an accumulator what it sees."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_iteration_runtime_context().get_iteration_aggregator("seen")
        self.counter = runtime_context.get_int_counter("seen")

    def map(self, value: Any) -> Any:
        self.seen.aggregate(1)
        self.counter.add(1)
        return value


class CountedSum(Counted, RichReduceFunction):
    """The same for each addition, before the exchange and after it."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        self.map(None)
        return value1[0], value1[1] + value2[1]


@on_each("parallelism", [1, 2], on_spark=[2])
def test_aggregators_of_steps_in_one_task_are_counted_once_each(make_batch_env: MakeBatchEnv, parallelism: int) -> None:
    env = make_batch_env(parallelism)
    begin = env.from_collection([(0, 1)] * 6).iterate(1)
    seen = LongSumAggregator()
    begin.register_aggregator("seen", seen)
    twice = begin.map(Counted()).map(Counted()).map(lambda pair: pair)
    assert begin.close_with(twice.group_by(0).reduce(CountedSum())).collect() == [(0, 6)]
    assert seen.get_aggregate() == 6 + 6 + 5
    result = env.get_last_job_execution_result()
    assert result is not None and result.get_accumulator_result("seen") == 6 + 6 + 5


EDGES = [(1, 2), (2, 3), (4, 5), (6, 7), (7, 8), (8, 9), (9, 10)]


@pytest.mark.feature("DA-05")
@on_each("parallelism", [1, 4], on_spark=[2])
def test_connected_components_by_a_delta_iteration(make_batch_env: MakeBatchEnv, parallelism: int) -> None:
    env = make_batch_env(parallelism)
    result = components(env, EDGES, range(1, 11))
    assert dict(result.collect()) == {1: 1, 2: 1, 3: 1, 4: 4, 5: 4, 6: 6, 7: 6, 8: 6, 9: 6, 10: 6}


def components(env: ExecutionEnvironment, edges: list[tuple[int, int]], vertices: Iterable[int]) -> DataSet:
    both = env.from_collection(edges).flat_map(lambda edge: [edge, (edge[1], edge[0])])
    labels = env.from_collection([(vertex, vertex) for vertex in vertices])
    iteration = labels.iterate_delta(labels, 100, 0)
    offered = iteration.get_workset().join(both).where(0).equal_to(0).with_(lambda vertex, edge: (edge[1], vertex[1]))
    smallest = offered.group_by(0).min(1)
    better = smallest.join(iteration.get_solution_set()).where(0).equal_to(0)
    changed = better.with_(lambda new, old, out: out.collect(new) if new[1] < old[1] else None)
    return iteration.close_with(changed, changed)


@pytest.mark.feature("DA-06", "DA-07")
@on_each("hint", HINTS[1:], on_spark=HINTS[1:])
def test_joining_and_sorting_more_than_the_memory(make_batch_env: MakeBatchEnv, hint: JoinHint) -> None:
    env = make_batch_env(2, {"firesteel.dataset.memory": "16 kb"})
    left = env.generate_sequence(0, 19_999).map(lambda number: (number % 5000, number))
    right = env.generate_sequence(0, 4999).map(lambda number: (number, -number))
    joined = left.join(right, hint).where(0).equal_to(0).with_(lambda one, other: one[1] + other[1])
    assert "hash join, first input built" in env.explain(joined) or hint is JoinHint.REPARTITION_SORT_MERGE
    assert sorted(joined.collect()) == sorted(number - number % 5000 for number in range(20_000))
    last = left.sort_partition(1, Order.DESCENDING).set_parallelism(1).collect()
    assert [pair[1] for pair in last] == list(range(19_999, -1, -1))


class Counting(RichMapFunction):
    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.get_int_counter("calls")
        self.mean = AverageAccumulator()
        runtime_context.add_accumulator("mean", self.mean)
        self.offset = sum(runtime_context.get_broadcast_variable("offsets"))
        self.factor = runtime_context.get_parameters()

    def map(self, value: int) -> int:
        self.calls.add(1)
        self.mean.add(value)
        return value * self.factor + self.offset


@on_both
@pytest.mark.feature("DA-08")
def test_a_set_that_is_used_twice_is_computed_once(env: ExecutionEnvironment, tmp_path: Path) -> None:
    offsets = env.from_elements(100, 200)
    made = env.generate_sequence(1, 10).map(Counting()).with_broadcast_set(offsets, "offsets").with_parameters(2)
    made.write_as_text(str(tmp_path / "one"))
    made.filter(lambda value: value > 310).write_as_text(str(tmp_path / "other")).set_parallelism(1)
    result = env.execute("twice")
    assert result.get_accumulator_result("calls") == 10
    assert math.isclose(result.get_accumulator_result("mean"), 5.5)
    lines = [line for part in sorted((tmp_path / "one").iterdir()) for line in part.read_text().splitlines()]
    assert lines == [str(2 * number + 300) for number in range(1, 11)]
    assert (tmp_path / "other").read_text() == "312\n314\n316\n318\n320\n"


class Collected(OutputFormat):
    def __init__(self, path: str) -> None:
        self.path = path

    def open(self, task_number: int, num_tasks: int) -> None:
        self.file = open(f"{self.path}/{task_number}-of-{num_tasks}", "w")  # noqa: SIM115

    def write_record(self, record: Any) -> None:
        self.file.write(f"<{record}>")

    def close(self) -> None:
        self.file.close()

    def finalize_global(self, parallelism: int) -> None:
        Path(self.path, "done").touch()


class Squares(InputFormat):
    def create_input_splits(self, min_num_splits: int) -> list[range]:
        return [range(3), range(3, 5)]

    def open(self, split: Any) -> None:
        self.left = list(split)

    def reached_end(self) -> bool:
        return not self.left

    def next_record(self) -> int:
        return int(self.left.pop(0) ** 2)

    def close(self) -> None:
        self.left = []


@on_both
def test_formats_of_ones_own(env: ExecutionEnvironment, tmp_path: Path) -> None:
    env.create_input(Squares()).output(Collected(str(tmp_path)))
    env.execute()
    parts = "".join(path.read_text() for path in sorted(tmp_path.glob("*-of-2")))
    assert parts == "<0><1><4><9><16>"
    assert (tmp_path / "done").exists()


@on_both
def test_csv_both_ways(env: ExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('name,age,town\nAda,36,London\n# nobody\n"Bob, jr",x,Rome\nCid,3,"Oslo"\n')
    reader = env.read_csv_file(str(path)).ignore_first_line().ignore_comments("#").parse_quoted_strings()
    people = reader.ignore_invalid_lines().include_fields("110").types(str, int)
    assert sorted(people.collect()) == [("Ada", 36), ("Cid", 3)]
    as_objects = env.read_csv_file(str(path)).ignore_first_line().ignore_invalid_lines().pojo_type(Person)
    assert Person("Ada", 36) in as_objects.collect()
    people.write_as_csv(str(tmp_path / "out"), field_delimiter="|").set_parallelism(1)
    env.execute()
    assert sorted((tmp_path / "out").read_text().splitlines()) == ["Ada|36", "Cid|3"]
    with pytest.raises(JobFailedError, match="MalformedRecordError"):
        env.read_csv_file(str(path)).ignore_first_line().types(str, int).collect()


def test_what_is_there_is_not_overwritten_unless_told(env: ExecutionEnvironment, tmp_path: Path) -> None:
    target = str(tmp_path / "out")
    for mode in (WriteMode.NO_OVERWRITE, WriteMode.OVERWRITE):
        env.from_elements(1, 2).write_as_text(target, mode)
        env.execute()
    env.from_elements(1, 2).write_as_text(target)
    with pytest.raises(ProgramError, match="exists already"):
        env.execute()


@on_both
def test_a_failure_shows_the_users_error_first(env: ExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError) as failure:
        env.from_elements(1, 0).map(lambda value: 1 // value).name("divide").collect()
    lines = str(failure.value).splitlines()
    assert lines[0].startswith("ZeroDivisionError")
    assert "operator: divide" in str(failure.value) and "test_dataset.py" in str(failure.value)


def test_a_function_that_cannot_be_sent_is_named(env: ExecutionEnvironment) -> None:
    import threading

    lock = threading.Lock()
    with pytest.raises(SerializationError, match="lock"):
        env.from_elements(1).map(lambda value: (value, lock)).collect()


def test_a_missing_file_is_named(env: ExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="/nowhere/at-all is not there"):
        env.read_text_file("/nowhere/at-all").collect()
