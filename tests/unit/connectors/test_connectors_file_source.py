"""The file source: files once each, watched or not, formats, parts, other file systems."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from firesteel.common import Row, Types
from firesteel.common.time import Duration
from firesteel.common.warnings import FiresteelWarning
from firesteel.connectors.files import source as source_module
from firesteel.connectors.files.formats import StreamFormat
from firesteel.connectors.files.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from firesteel.connectors.files.source import FileEnumeratorProvider, FileSource, FileSplitAssignerProvider
from firesteel.connectors.files.storage import ArrowStorage, LocalStorage, open_storage
from firesteel.errors import ConfigurationError, TypeMismatchError
from firesteel.model.source import Boundedness
from tests.unit.connectors.driving import open_reader, read_all, read_split, splits_of


def text(*paths: Path | str) -> source_module.FileSourceBuilder:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *map(str, paths))


def records(source: FileSource, **options: Any) -> list[Any]:
    return [value for part in read_all(source, **options) for value in part]


def put(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def test_reads_files_and_directories_with_what_is_in_them(tmp_path: Path) -> None:
    put(tmp_path / "in" / "b.txt", "b1\nb2\n")
    put(tmp_path / "in" / "deep" / "a.txt", "a")
    put(tmp_path / "in" / ".hidden", "no")
    put(tmp_path / "in" / "_SUCCESS", "no")
    put(tmp_path / "in" / ".inprogress" / "x", "no")
    (tmp_path / "in" / "z.gz").write_bytes(gzip.compress(b"z1\nz2"))
    other = put(tmp_path / "other.txt", "o\n")
    source = text(tmp_path / "in", other.as_uri()).build()
    assert source.boundedness is Boundedness.BOUNDED
    assert records(source, fresh=True) == ["b1", "b2", "a", "z1", "z2", "o"]


def test_large_files_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_PART_BYTES", 10)
    path = put(tmp_path / "a", "".join(f"line {n}\n" for n in range(10)))
    in_parts = text(path).set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator()).build()
    assert len(splits_of(in_parts)) == 7
    assert records(in_parts) == [f"line {n}" for n in range(10)]
    whole = text(path).set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator()).build()
    assert len(splits_of(whole)) == 1
    assert records(whole) == [f"line {n}" for n in range(10)]


@pytest.mark.feature("SS-10")
def test_a_watched_directory_gives_each_file_once_also_across_a_restart(tmp_path: Path) -> None:
    source = text(tmp_path).monitor_continuously(Duration.of_millis(100)).build()
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    put(tmp_path / "1", "one")
    enumerator = source.create_enumerator(1)
    enumerator.start(None)
    (first,) = enumerator.discover_splits(1000)
    assert read_split(source, first) == ["one"]
    put(tmp_path / "2", "two")
    assert list(enumerator.discover_splits(1099)) == []  # it is not time yet
    assert enumerator.next_data_time(1099) == 1100
    assert not enumerator.no_more_splits()
    (second,) = enumerator.discover_splits(1100)
    assert read_split(source, second) == ["two"]
    restored = source.create_enumerator(1)
    restored.start(pickle.loads(pickle.dumps(enumerator.snapshot())))
    put(tmp_path / ".3", "not yet")
    assert list(restored.discover_splits(5000)) == []
    (tmp_path / ".3").rename(tmp_path / "3")
    (third,) = restored.discover_splits(6000)
    assert read_split(source, third) == ["not yet"]


def test_watching_begins_again_with_what_the_checkpoint_does_not_know(tmp_path: Path) -> None:
    source = text(tmp_path).monitor_continuously(Duration.of_millis(100)).build()
    put(tmp_path / "1", "one")
    enumerator = source.create_enumerator(1)
    enumerator.start(None)
    before = enumerator.snapshot()
    first = list(enumerator.discover_splits(0))
    restored = source.create_enumerator(1)
    restored.start(before)
    assert list(restored.discover_splits(0)) == first


class JsonRecords(StreamFormat):
    def read_records(self, stream: IO[bytes]) -> Iterator[Any]:
        for line in iter(stream.readline, b""):
            yield json.loads(line)


def test_a_format_of_the_user(tmp_path: Path) -> None:
    path = put(tmp_path / "a.json", "".join(f"[{n}]\n" for n in range(7)))
    source = FileSource.for_record_stream_format(JsonRecords(), str(path)).build()
    assert records(source, fresh=True) == [[n] for n in range(7)]
    assert records(source, max_records=100) == [[n] for n in range(7)]


def test_the_line_format_reads_any_stream(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "x\r\ny")
    with path.open("rb") as stream:
        assert list(StreamFormat.text_line_format().read_records(stream)) == ["x", "y"]


def test_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.connectors.files.columns._GROUP_RECORDS", 4)  # several row groups
    row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    with (tmp_path / "a.parquet").open("wb") as stream:
        writer = ParquetBulkWriters.for_row_type(row_type).create(stream)
        for number in range(10):
            writer.add_element((number, f"n{number}"))
        writer.finish()
    names = Types.ROW_NAMED(["NAME"], [Types.STRING()])
    format = ParquetColumnarRowInputFormat(names, batch_size=3, is_case_sensitive=False)
    source = FileSource.for_bulk_file_format(format, str(tmp_path)).build()
    assert records(source, fresh=True) == records(source) == [Row(NAME=f"n{n}") for n in range(10)]
    exact = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(names), str(tmp_path)).build()
    with pytest.raises(TypeMismatchError, match="no column NAME; its columns are id, name"):
        records(exact)


def test_other_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow.fs import LocalFileSystem

    def arrow(uri: str) -> tuple[ArrowStorage, str]:
        return ArrowStorage(LocalFileSystem()), uri

    monkeypatch.setattr(source_module, "open_storage", arrow)
    put(tmp_path / "b", "b\n")
    put(tmp_path / "sub" / "a", "a1\na2\n")
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"c"))
    assert records(text(tmp_path).build(), fresh=True) == ["b", "c", "a1", "a2"]


def test_what_a_builder_refuses(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="at least one path"):
        text()
    with pytest.raises(ConfigurationError, match="StreamFormat"):
        FileSource.for_record_stream_format("text", "a")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="Duration"):
        text(tmp_path).monitor_continuously(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="charset"):
        StreamFormat.text_line_format("nonsense")
    with pytest.raises(ConfigurationError, match="no file or directory"):
        splits_of(text(tmp_path / "missing").build())


def test_a_split_assigner_has_no_effect_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    with pytest.warns(FiresteelWarning, match="no effect"):
        text(tmp_path).set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())


def test_a_watched_source_can_be_told_to_end(tmp_path: Path) -> None:
    source = text(tmp_path).monitor_continuously(Duration.of_seconds(1)).process_static_file_set().build()
    assert source.boundedness is Boundedness.BOUNDED


def test_where_paths_lead() -> None:
    for uri, path in (("/a/b c", "/a/b c"), ("file:///a/b%20c", "/a/b c"), ("file:/a", "/a")):
        storage, found = open_storage(uri)
        assert isinstance(storage, LocalStorage)
        assert found == path
    with pytest.raises(ConfigurationError, match="not empty"):
        open_storage("")


def test_many_files_in_turns(tmp_path: Path) -> None:
    for name in "abc":
        put(tmp_path / name, f"{name}1\n{name}2\n")
    source = text(tmp_path).build()
    reader, positions = open_reader(source), {}
    found = []
    splits = splits_of(source)
    for _ in range(3):
        for split in splits:
            result = reader.read(split, positions.get(split.split_id), 1, 0)
            positions[split.split_id] = result.position
            found.extend(result.values)
            if result.finished:
                splits = [each for each in splits if each is not split]
    assert found == ["a1", "b1", "c1", "a2", "b2", "c2"]
