"""Sources one after the other: no gap, no overlap, across restarts."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from firesteel.common.time import Duration
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.datagen import DataGeneratorSource
from firesteel.connectors.files.formats import StreamFormat
from firesteel.connectors.files.source import FileSource
from firesteel.connectors.hybrid import HybridSource
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.connectors.socket import SocketSource
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.source import Boundedness, SplitEnumerator
from tests.unit.connectors.driving import read_split


def numbers(*ranges: tuple[int, int]) -> HybridSource:
    builder = HybridSource.builder(NumberSequenceSource(*ranges[0]))
    for each in ranges[1:]:
        builder.add_source(NumberSequenceSource(*each))
    return builder.build()


def test_the_next_source_begins_when_all_splits_of_the_one_before_have_ended() -> None:
    source = numbers((1, 4), (5, 6))
    enumerator = source.create_enumerator(2)
    enumerator.start(None)
    first, second = enumerator.discover_splits(0)
    assert not enumerator.no_more_splits()
    enumerator.split_finished(second)
    assert list(enumerator.discover_splits(1)) == []
    enumerator.split_finished(first)
    live = list(enumerator.discover_splits(2))
    assert enumerator.no_more_splits()
    assert [read_split(source, split) for split in (first, second, *live)] == [[1, 2], [3, 4], [5], [6]]


@pytest.mark.parametrize("cut", range(4))
def test_a_restart_goes_on_in_the_source_that_was_read(cut: int) -> None:
    source = numbers((1, 2), (3, 4), (5, 6))
    enumerator: SplitEnumerator = source.create_enumerator(1)
    enumerator.start(None)
    found: list[int] = []
    for step in range(5):
        if step == cut:
            state = pickle.loads(pickle.dumps(enumerator.snapshot()))
            enumerator.close()
            enumerator = source.create_enumerator(1)
            enumerator.start(state)
        for split in enumerator.discover_splits(step):
            found.extend(read_split(source, split))
            enumerator.split_finished(split)
    assert found == [1, 2, 3, 4, 5, 6]
    assert enumerator.no_more_splits()


def test_a_split_of_history_that_was_open_in_the_checkpoint_still_holds_the_live_source_back() -> None:
    source = numbers((1, 2), (3, 4))
    enumerator = source.create_enumerator(1)
    enumerator.start(None)
    (history,) = enumerator.discover_splits(0)
    restored = source.create_enumerator(1)
    restored.start(enumerator.snapshot())
    assert list(restored.discover_splits(1)) == []
    restored.split_finished(history)
    assert len(list(restored.discover_splits(2))) == 1


def test_the_parts_are_asked_in_their_own_terms(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    watched = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    live = watched.monitor_continuously(Duration.of_millis(50)).build()
    source = HybridSource.builder(CollectionSource(["h"])).add_source(live).build()
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert source.guarantee == "exactly-once"
    enumerator = source.create_enumerator(1)
    enumerator.start(None)
    (history,) = enumerator.discover_splits(0)
    assert source.initial_position(history) == 0
    assert enumerator.has_data(history, 0, 0)
    enumerator.split_finished(history)
    (file,) = enumerator.discover_splits(10)
    assert enumerator.next_data_time(10) == 60
    assert read_split(source, file) == ["x"]
    enumerator.committed({history.split_id: 1, file.split_id: 2})
    enumerator.close()


def test_what_cannot_be_part_of_it() -> None:
    endless = DataGeneratorSource(lambda index: index, None)
    with pytest.raises(ConfigurationError, match="does not end"):
        HybridSource.builder(endless).add_source(NumberSequenceSource(1, 2))
    with pytest.raises(UnsupportedError, match="read in the driver"):
        HybridSource.builder(NumberSequenceSource(1, 2)).add_source(SocketSource("localhost", 1))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="made of Sources"):
        HybridSource.builder([1, 2])  # type: ignore[arg-type]
