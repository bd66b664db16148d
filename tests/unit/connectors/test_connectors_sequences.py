"""Collections, number sequences, generated records."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Types
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.datagen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.errors import ConfigurationError
from firesteel.model.source import Boundedness, ReaderContext
from tests.unit.connectors.driving import open_reader, read_all, read_split, splits_of


def square(index: int) -> int:
    return index * index


class TestCollection:
    def test_gives_the_items_in_order_in_one_split_whatever_the_parallelism(self) -> None:
        source = CollectionSource(["a", "b", "c", "d"])
        assert read_all(source, parallelism=3) == [["a", "b", "c", "d"]]
        assert source.boundedness is Boundedness.BOUNDED

    def test_an_empty_collection_ends_at_once(self) -> None:
        assert read_all(CollectionSource([])) == [[]]

    def test_reads_again_from_an_older_position(self) -> None:
        source = CollectionSource(range(10))
        (split,) = splits_of(source)
        reader = open_reader(source)
        first = reader.read(split, 0, 4, 0)
        reader.read(split, first.position, 4, 0)
        again = reader.read(split, first.position, 4, 0)
        assert (again.values, again.position, again.finished) == ([4, 5, 6, 7], 8, False)

    def test_later_changes_of_the_list_have_no_effect(self) -> None:
        items = [1]
        source = CollectionSource(items)
        items.append(2)
        assert read_all(source) == [[1]]

    def test_a_text_is_not_a_collection(self) -> None:
        with pytest.raises(ConfigurationError, match="Put it into a list"):
            CollectionSource("abc")


class TestNumberSequence:
    def test_includes_both_ends(self) -> None:
        assert read_all(NumberSequenceSource(3, 7)) == [[3, 4, 5, 6, 7]]
        assert read_all(NumberSequenceSource(-1, -1)) == [[-1]]

    def test_each_subtask_reads_a_contiguous_part(self) -> None:
        assert read_all(NumberSequenceSource(1, 10), parallelism=3) == [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]]

    def test_no_split_for_subtasks_without_numbers(self) -> None:
        assert read_all(NumberSequenceSource(1, 2), parallelism=4) == [[1], [2]]

    @given(st.integers(-50, 50), st.integers(0, 60), st.integers(1, 7), st.integers(1, 9))
    def test_all_parts_together_are_the_sequence(self, start: int, more: int, parallelism: int, chunk: int) -> None:
        source = NumberSequenceSource(start, start + more)
        parts = read_all(source, parallelism, max_records=chunk, fresh=True)
        assert [number for part in parts for number in part] == list(range(start, start + more + 1))

    @pytest.mark.parametrize(("start", "end"), [(2, 1), (1.5, 2), (True, 2), (1, "3")])
    def test_refuses_what_is_no_sequence(self, start: Any, end: Any) -> None:
        with pytest.raises(ConfigurationError):
            NumberSequenceSource(start, end)

    def test_is_found_under_pyflinks_names(self) -> None:
        from firesteel.datastream import connectors
        from firesteel.datastream.connectors import base, number_seq

        assert connectors.NumberSequenceSource is number_seq.NumberSequenceSource is NumberSequenceSource
        assert connectors.DeliveryGuarantee is base.DeliveryGuarantee
        assert {guarantee.name for guarantee in base.DeliveryGuarantee} == {"EXACTLY_ONCE", "AT_LEAST_ONCE", "NONE"}


class Numbered(GeneratorFunction):
    def open(self, reader_context: ReaderContext) -> None:
        self.label = f"subtask {reader_context.subtask_index}"

    def map(self, value: int) -> str:
        return f"{self.label}: {value}"


class TestDataGenerator:
    @pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
    def test_the_same_records_at_any_parallelism(self, parallelism: int) -> None:
        parts = read_all(DataGeneratorSource(square, 17), parallelism, fresh=True)
        assert sorted(value for part in parts for value in part) == [i * i for i in range(17)]
        assert len(parts) == parallelism

    def test_subtasks_advance_evenly(self) -> None:
        assert read_all(DataGeneratorSource(square, 5), parallelism=2) == [[0, 4, 16], [1, 9]]

    def test_function_classes_are_opened(self) -> None:
        assert read_all(DataGeneratorSource(Numbered(), 2)) == [["subtask 0: 0", "subtask 0: 1"]]

    def test_no_records_means_no_splits(self) -> None:
        assert splits_of(DataGeneratorSource(square, 0), parallelism=2) == []

    def test_without_a_count_it_does_not_end(self) -> None:
        source = DataGeneratorSource(square, None)
        assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
        (split,) = splits_of(source)
        result = open_reader(source).read(split, 10**12, 2, 0)
        assert (result.values, result.finished) == ([10**24, (10**12 + 1) ** 2], False)

    def test_declares_its_type(self) -> None:
        assert DataGeneratorSource(square, 1, None, Types.LONG()).get_produced_type() == Types.LONG()

    @pytest.mark.parametrize("count", [-1, 1.5, True])
    def test_refuses_a_count_that_is_none(self, count: Any) -> None:
        with pytest.raises(ConfigurationError, match="count of records"):
            DataGeneratorSource(square, count)

    def test_refuses_what_cannot_generate(self) -> None:
        with pytest.raises(ConfigurationError, match="got 3"):
            DataGeneratorSource(3, 1)  # type: ignore[arg-type]


class TestRateLimit:
    def test_records_come_when_they_are_due(self) -> None:
        source = DataGeneratorSource(square, None, RateLimiterStrategy.per_second(10))
        enumerator = source.create_enumerator(1)
        enumerator.start(None)
        (split,) = enumerator.discover_splits(5_000)
        reader = open_reader(source)
        assert reader.read(split, 0, 100, 5_000).values == [0]
        assert not enumerator.has_data(split, 1, 5_099)
        assert reader.read(split, 1, 100, 5_099).values == []
        assert enumerator.next_data_time(5_099) == 5_100
        assert enumerator.has_data(split, 1, 5_100)
        assert reader.read(split, 1, 100, 6_000).values == [i * i for i in range(1, 11)]

    def test_the_rate_is_shared_by_the_subtasks(self) -> None:
        source = DataGeneratorSource(square, None, RateLimiterStrategy.per_second(100))
        reader = open_reader(source)
        splits = splits_of(source, parallelism=4, now=0)
        counts = [len(reader.read(s, source.initial_position(s), 10_000, 999).values) for s in splits]
        assert counts == [25, 25, 25, 25]

    @given(st.floats(0.01, 1e6), st.integers(0, 10**6))
    def test_the_next_time_is_the_first_at_which_the_next_record_is_due(self, rate: float, elapsed: int) -> None:
        strategy = RateLimiterStrategy.per_second(rate)
        due = strategy.due(elapsed)
        assert due is not None
        at = strategy.due_time(due)
        assert at > elapsed
        later = strategy.due(at)
        assert later is not None and later > due
        assert strategy.due(at - 1) == due

    def test_an_ended_rate_limited_source_asks_for_no_more_epochs(self) -> None:
        source = DataGeneratorSource(square, 5, RateLimiterStrategy.per_second(10))
        enumerator = source.create_enumerator(1)
        enumerator.start(None)
        (split,) = enumerator.discover_splits(0)
        assert enumerator.next_data_time(399) == 400
        assert enumerator.next_data_time(400) is None
        assert read_split(source, split, max_records=10, now=400) == [0, 1, 4, 9, 16]

    def test_the_start_time_survives_a_restart(self) -> None:
        source = DataGeneratorSource(square, None, RateLimiterStrategy.per_second(1))
        enumerator = source.create_enumerator(1)
        enumerator.start(None)
        (split,) = enumerator.discover_splits(1_000)
        again = source.create_enumerator(1)
        again.start(pickle.loads(pickle.dumps(enumerator.snapshot())))
        assert again.next_data_time(3_500) == enumerator.next_data_time(3_500) == 4_000
        assert again.has_data(split, 2, 3_500) and not again.has_data(split, 3, 3_500)

    def test_without_a_limit_there_is_always_data(self) -> None:
        source = DataGeneratorSource(square, None, RateLimiterStrategy.no_op())
        enumerator = source.create_enumerator(1)
        enumerator.start(None)
        (split,) = enumerator.discover_splits(0)
        assert enumerator.has_data(split, 10**9, 0)
        assert enumerator.next_data_time(0) is None

    @pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan")])
    def test_refuses_what_is_no_rate(self, rate: float) -> None:
        with pytest.raises(ConfigurationError, match="no_op"):
            RateLimiterStrategy.per_second(rate)
