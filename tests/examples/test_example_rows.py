"""What the output of an example cannot show: its functions under test, with other input, restarts and clocks."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from firesteel.common import Configuration, TypeInformation
from firesteel.connectors.taxi import GeoUtils
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment
from firesteel.runtime.basic import FlatMapOperator
from firesteel.runtime.co import CoFlatMapOperator, KeyedCoProcessOperator
from firesteel.runtime.process import KeyedProcessOperator
from firesteel.state.rocksdb import RocksDBBackend
from firesteel.testing import KeyedOneInputOperatorHarness, KeyedTwoInputOperatorHarness

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MINUTE = 60_000


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports an example by its name."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        return module

    return load


Load = Callable[[str], ModuleType]


def itself(value: Any) -> Any:
    return value


def first(value: Any) -> Any:
    return value[0]


def in_process(parallelism: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process"})
    )
    env.set_parallelism(parallelism)
    return env


@pytest.mark.feature("EX-02")
def test_the_type_of_a_person_lists_its_fields(load: Load) -> None:
    person = load("15_types").Person("Fred Flintstone", 35)
    kind: Any = TypeInformation.of(type(person))
    assert kind.get_field_names() == ["name", "age"]
    assert kind.check(person) is None


@pytest.mark.feature("EX-03")
def test_several_subtasks_print_their_numbers(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    adults = load("01_adults")
    env = in_process(4)
    people = [adults.Person("Fred", 35), adults.Person("Wilma", 35), adults.Person("Pebbles", 2)]
    env.from_collection(people).filter(adults.IsAdult()).print()
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    numbers, texts = zip(*(line.split("> ") for line in lines))
    assert sorted(texts) == ["Fred: age 35", "Wilma: age 35"]
    assert all(1 <= int(number) <= 4 for number in numbers)


@pytest.mark.feature("EX-07")
def test_the_text_of_an_enriched_ride_ends_with_its_cells(load: Load) -> None:
    enriched, ride = load("17_enriched_rides").EnrichedRide, load("18_longest_rides").RIDES[0]
    assert GeoUtils.map_to_grid_cell(-73.9835, 40.7458) == 50797
    assert str(enriched.of(ride)) == f"{ride},50797,49790"


class WithSubtask(ProcessFunction):
    """Adds which subtask a record has come to."""

    def open(self, runtime_context: Any) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, self.index


@pytest.mark.feature("EX-10", "EX-11")
def test_one_subtask_for_each_cell_with_and_without_the_enriched_class(load: Load) -> None:
    example = load("17_enriched_rides")

    def groups(by_ride: bool) -> dict[int, set[int]]:
        stream = example.rides(in_process(3)).filter(example.NYCFilter())
        if by_ride:
            keyed = stream.key_by(lambda ride: GeoUtils.map_to_grid_cell(ride.start_lon, ride.start_lat))
        else:
            keyed = stream.map(example.Enrichment()).key_by(lambda ride: ride.start_cell)
        found: dict[int, set[int]] = {}
        for ride, subtask in keyed.process(WithSubtask()).execute_and_collect():
            found.setdefault(GeoUtils.map_to_grid_cell(ride.start_lon, ride.start_lat), set()).add(subtask)
        return found

    cells = groups(by_ride=False)
    assert all(len(subtasks) == 1 for subtasks in cells.values())
    assert len(set.union(*cells.values())) > 1
    assert groups(by_ride=True) == cells


@pytest.mark.feature("EX-14")
def test_after_a_restart_there_are_still_no_repeats(load: Load) -> None:
    factory = partial(FlatMapOperator, load("05_deduplicate").Deduplicator())
    before = KeyedOneInputOperatorHarness(factory, itself)
    before.process_elements([(event, None) for event in "aba"])
    after = KeyedOneInputOperatorHarness(factory, itself).restore(before.snapshot())
    after.process_elements([(event, None) for event in "bcac"])
    assert before.output_values() + after.output_values() == ["a", "b", "c"]


@pytest.mark.feature("EX-15")
def test_after_clear_nothing_is_left(load: Load) -> None:
    harness = KeyedOneInputOperatorHarness(partial(FlatMapOperator, load("19_forget").Deduplicator()), first)
    harness.process_element(("a", "seen"))
    assert harness.state_entries() == 1
    harness.process_element(("a", "forget"))
    assert harness.state_entries() == 0


@pytest.mark.feature("EX-16")
@pytest.mark.parametrize("control_first", [True, False])
def test_which_words_come_out_depends_on_the_race(load: Load, control_first: bool) -> None:
    harness = KeyedTwoInputOperatorHarness(
        partial(CoFlatMapOperator, load("06_control_stream").Control()), itself, itself
    )
    control = partial(harness.process_elements1, [("DROP", None), ("IGNORE", None)])
    data = partial(harness.process_elements2, [(word, None) for word in ("Apache", "DROP", "Flink", "IGNORE")])
    for send in (control, data) if control_first else (data, control):
        send()
    words = harness.output_values()
    assert words == (["Apache", "Flink"] if control_first else ["Apache", "DROP", "Flink", "IGNORE"])


@pytest.mark.feature("EX-17")
def test_with_a_bound_of_4_one_event_is_late(load: Load, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "execution.target: in-process")
    example = load("20_sort_by_event_time")
    example.main(4)
    lines = capsys.readouterr().out.splitlines()
    in_order = [int(line) for line in lines if not line.startswith("late")]
    assert [line for line in lines if line.startswith("late")] == ["late> 19"]
    assert in_order == sorted(set(example.EVENTS) - {19})


@pytest.mark.feature("EX-32")
def test_an_unmatched_fare_leaves_no_state_behind(load: Load) -> None:
    example = load("28_stale_state")
    harness = KeyedTwoInputOperatorHarness(partial(KeyedCoProcessOperator, example.JoinWithTimers()), first, first)
    harness.process_element1((1, "ride 1", 1), MINUTE)
    harness.process_element2((3, "fare 3", 1), MINUTE)
    harness.process_element2((1, "fare 1", 2), 2 * MINUTE)
    assert (harness.state_entries(), harness.timers()) == (1, 1)
    harness.process_both_watermarks(MINUTE + example.PATIENCE)
    assert (harness.state_entries(), harness.timers()) == (0, 0)
    assert harness.output_values() == ["ride 1 + fare 1"]
    assert [record.value for record in harness.side_output(example.UNMATCHED)] == ["fare 3"]


@pytest.mark.feature("EX-35")
def test_a_start_without_end_is_forgotten_after_four_hours(load: Load) -> None:
    example = load("30_start_and_end")
    harness = KeyedOneInputOperatorHarness(partial(KeyedProcessOperator, example.StartEndDuration()), first)
    harness.process_element(("a", "START", 0), 0)
    harness.process_element(("b", "START", 1), MINUTE)
    harness.process_element(("a", "END", 90), 90 * MINUTE)
    assert harness.output_values() == [("a", 90)]
    assert (harness.state_entries(), harness.timers()) == (1, 1)
    harness.process_watermark(MINUTE + example.FOUR_HOURS - 1)
    assert harness.state_entries() == 1
    harness.process_watermark(MINUTE + example.FOUR_HOURS)
    assert (harness.state_entries(), harness.timers()) == (0, 0)
    harness.process_element(("b", "END", 500), 500 * MINUTE)
    assert harness.output_values() == [("a", 90)]


@pytest.mark.feature("EX-38")
@pytest.mark.parametrize("seed", range(3))
def test_counts_equal_a_group_by_however_events_are_mixed(
    load: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "execution.target: in-process\nparallelism.default: 2")
    example = load("33_conversions_per_hour")
    chance = random.Random(seed)
    events = [
        (f"shop {chance.choice('ab')}", chance.choice(["view", "sale"]), chance.randrange(180)) for _ in range(200)
    ]
    monkeypatch.setattr(example, "IN_ORDER", sorted(events, key=lambda event: event[2]))
    example.main(seed)
    expected: Counter[tuple[str, int, str]] = Counter((shop, minute // 60 + 1, kind) for shop, kind, minute in events)
    hours = sorted({(shop, hour) for shop, hour, _ in expected})
    assert capsys.readouterr().out.splitlines() == [
        f"{shop}, hour {hour}: {expected[shop, hour, 'sale']} sales for {expected[shop, hour, 'view']} views"
        for shop, hour in hours
    ]


# --- time to live -------------------------------------------------------------------------------------


def words_for_a_second(load: Load, config: str, **settings: Any) -> KeyedOneInputOperatorHarness:
    """The example's function with one of its configurations, after 20 words and two seconds."""
    example = load("35_time_to_live")
    factory = partial(FlatMapOperator, example.Deduplicator(getattr(example, config)))
    harness = KeyedOneInputOperatorHarness(factory, itself, **settings)
    harness.process_elements([(f"word {number}", None) for number in range(20)])
    harness.set_processing_time(2000)
    assert len(harness.output_values()) == 20
    harness.clear_output()
    return harness


@pytest.mark.feature("EX-40")
def test_reading_does_not_prolong_and_nothing_expired_is_seen(load: Load) -> None:
    example = load("35_time_to_live")
    harness = KeyedOneInputOperatorHarness(partial(FlatMapOperator, example.Deduplicator(example.ONE_SECOND)), itself)
    for time, comes in ((0, True), (600, False), (999, False), (1100, True), (1700, False)):
        harness.set_processing_time(time)
        harness.process_element("a")
        assert harness.output_values() == (["a"] if comes else []), time
        harness.clear_output()


@pytest.mark.feature("EX-41")
def test_without_clean_up_in_the_background_only_reads_remove(load: Load) -> None:
    harness = words_for_a_second(load, "WHEN_READ")
    harness.process_elements([("word 0", None)] * 50)
    harness.end_epoch()
    assert harness.output_values() == ["word 0"]
    assert harness.state_entries() == 20


@pytest.mark.feature("EX-42")
def test_a_full_snapshot_leaves_out_what_has_expired(load: Load) -> None:
    harness = words_for_a_second(load, "IN_SNAPSHOTS")
    small = harness.snapshot()
    example = load("35_time_to_live")
    factory = partial(FlatMapOperator, example.Deduplicator(example.IN_SNAPSHOTS))
    assert KeyedOneInputOperatorHarness(factory, itself, now=2000).restore(small).open().state_entries() == 0


@pytest.mark.feature("EX-43")
def test_some_entries_are_cleaned_up_with_each_record(load: Load) -> None:
    harness = words_for_a_second(load, "SOME_AT_A_TIME")
    assert harness.state_entries() == 20
    for _ in range(4):
        harness.process_element("another")
    assert harness.state_entries() == 1


@pytest.mark.feature("EX-44")
def test_a_compaction_of_rocksdb_drops_what_has_expired(load: Load) -> None:
    harness = words_for_a_second(load, "IN_ROCKSDB", state_backend=partial(RocksDBBackend, memory=0))
    backend: Any = harness.operator.context.keyed_state
    assert harness.state_entries() == 20
    backend.compact()
    assert harness.state_entries() == 0
    harness.close()
