"""Text files: lines, parts of files, compression, encodings, errors."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.connectors.files import lines as line_files
from firesteel.connectors.text_file import TextFileSource
from firesteel.errors import ConfigurationError, FiresteelError, UnsupportedError
from tests.unit.connectors.driving import open_reader, read_all, splits_of


def lines_of(source: TextFileSource, **options: Any) -> list[str]:
    return [line for part in read_all(source, **options) for line in part]


def write(path: Path, data: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def test_gives_the_lines_of_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"one\ntwo\nthree\n")
    assert lines_of(TextFileSource(path)) == ["one", "two", "three"]
    assert lines_of(TextFileSource(f"file://{path}")) == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\n\na\n\n", ["", "", "a", ""]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b"", []),
        (b"\n", [""]),
    ],
)
def test_what_a_line_is(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    path = write(tmp_path / "a.txt", data)
    assert lines_of(TextFileSource(path), max_records=2, fresh=True) == lines


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=6), max_size=12),
    st.booleans(),
    st.integers(1, 20),
    st.integers(1, 5),
)
def test_parts_of_a_file_together_are_its_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], ended: bool, split_size: int, chunk: int
) -> None:
    lines = lines if not lines or ended else [*lines[:-1], lines[-1] + "."]
    data = "\n".join(lines) + ("\n" if ended and lines else "")
    path = write(tmp_path_factory.mktemp("text") / "a.txt", data.encode())
    found = lines_of(TextFileSource(path, split_size=split_size), max_records=chunk, fresh=True)
    expected = [line.removeprefix("\ufeff") if index == 0 else line for index, line in enumerate(lines)]
    assert found == expected


def test_lines_longer_than_a_chunk_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_files, "_CHUNK_BYTES", 4)
    path = write(tmp_path / "a.txt", b"a" * 50 + b"\nb\n" + b"c" * 33)
    assert lines_of(TextFileSource(path)) == ["a" * 50, "b", "c" * 33]


def test_positions_are_byte_offsets_and_can_be_gone_back_to(tmp_path: Path) -> None:
    source = TextFileSource(write(tmp_path / "a.txt", "ä\nbb\nc\n".encode()))
    (split,) = splits_of(source)
    reader = open_reader(source)
    first = reader.read(split, source.initial_position(split), 1, 0)
    assert (first.values, first.position) == (["ä"], 3)
    second = reader.read(split, 3, 1, 0)
    assert (second.values, second.position, second.finished) == (["bb"], 6, False)
    assert reader.read(split, 3, 5, 0).values == ["bb", "c"]


def test_reads_several_splits_in_turns(tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.txt", f"{name}1\n{name}2\n".encode())
    source = TextFileSource(str(tmp_path))
    reader = open_reader(source)
    first, second = splits_of(source)
    result = reader.read(first, None, 1, 0)
    assert reader.read(second, None, 2, 0).values == ["b1", "b2"]
    assert reader.read(first, result.position, 1, 0).values == ["a2"]


def test_a_directory_without_hidden_files_and_directories_inside(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "_SUCCESS", ".hidden", "deep/c.txt"):
        write(tmp_path / name, f"{name}\n".encode())
    assert lines_of(TextFileSource(str(tmp_path))) == ["a.txt", "b.txt"]
    assert lines_of(TextFileSource(str(tmp_path), recursive=True)) == ["a.txt", "b.txt", "deep/c.txt"]


def test_patterns(tmp_path: Path) -> None:
    for name in ("a1.txt", "a2.txt", "b1.txt", "what?.txt"):
        write(tmp_path / name, f"{name}\n".encode())
    assert lines_of(TextFileSource(f"{tmp_path}/a*.txt")) == ["a1.txt", "a2.txt"]
    assert lines_of(TextFileSource(f"file://{tmp_path}/a?.txt")) == ["a1.txt", "a2.txt"]
    assert lines_of(TextFileSource(f"{tmp_path}/what?.txt")) == ["what?.txt"]


def test_urls_are_unquoted(tmp_path: Path) -> None:
    path = write(tmp_path / "with space#1.txt", b"x\n")
    assert lines_of(TextFileSource(f"file://{path.replace(' ', '%20')}")) == ["x"]


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_compressed_files_are_read_in_one_part(tmp_path: Path, suffix: str, compress: Any) -> None:
    data = "".join(f"line {number}\n" for number in range(100)).encode()
    source = TextFileSource(write(tmp_path / f"a.txt.{suffix}", compress(data)), split_size=10)
    assert len(splits_of(source)) == 1
    assert lines_of(source, max_records=7, fresh=True) == data.decode().splitlines()


@pytest.mark.parametrize("charset", ["UTF-16", "UTF-16LE", "UTF-16-BE", "utf-32", "latin-1", "cp037", "shift_jis"])
def test_encodings(tmp_path: Path, charset: str) -> None:
    # U+0A0A and U+0D0A hold the byte of a line end; they exist in the wide encodings only.
    wide = charset.lower().startswith("utf")
    lines = ["one", "\u0a0a\u0d0a\u010a" if wide else "two", "three"]
    path = write(tmp_path / "a.txt", "\n".join(lines).encode(charset))
    assert lines_of(TextFileSource(path, charset, split_size=4), max_records=1, fresh=True) == lines


def test_utf_16_without_a_mark_is_big_endian(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\ntwo\n".encode("utf-16-be"))
    assert lines_of(TextFileSource(path, "UTF-16")) == ["one", "two"]


def test_bytes_that_are_no_text_are_an_error_with_file_and_offset(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"good\nbad \xff here\n")
    with pytest.raises(FiresteelError, match=r"a\.txt' is not valid UTF-8 at byte 9: .* charset_name="):
        lines_of(TextFileSource(path), max_records=1)


@pytest.mark.parametrize(
    ("name", "data"), [("a.gz", gzip.compress(b"one\n" * 100, mtime=0)[:-12]), ("b.gz", b"no gzip")]
)
def test_damaged_compressed_files_are_an_error_that_names_the_file(tmp_path: Path, name: str, data: bytes) -> None:
    with pytest.raises(FiresteelError, match=rf"{name}' cannot be read .* byte \d+"):
        lines_of(TextFileSource(write(tmp_path / name, data)))


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"one\ntwo\n")
    source = TextFileSource(path, split_size=4)
    first, _ = splits_of(source)
    reader = open_reader(source)
    reader.read(first, None, 1, 0)  # finds the borders of the part
    second = splits_of(source)[1]
    write(tmp_path / "a.txt", b"one\n")
    with pytest.raises(FiresteelError, match="Files must not be changed"):
        reader.read(second, 4, 1, 0)


@pytest.mark.parametrize("path", ["nothing.txt", "nothing*.txt"])
def test_a_missing_path_is_an_error_when_the_job_starts(tmp_path: Path, path: str) -> None:
    source = TextFileSource(str(tmp_path / path))
    with pytest.raises(ConfigurationError, match="nothing"):
        source.create_enumerator(1).start(None)


def test_refuses_other_storage_unknown_charsets_and_empty_parts() -> None:
    with pytest.raises(UnsupportedError, match="FileSource"):
        TextFileSource("s3://bucket/file.txt")
    with pytest.raises(ConfigurationError, match="utf-9"):
        TextFileSource("a.txt", "utf-9")
    with pytest.raises(ConfigurationError, match="split_size"):
        TextFileSource("a.txt", split_size=0)
    with pytest.raises(ConfigurationError, match="path"):
        TextFileSource("")
