"""Which backend a job gets, and where RocksDB puts its files."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.state import rocksdb
from firesteel.state.choice import BackendChoice


@pytest.mark.parametrize(
    ("directories", "turns"), [((), [None]), (("/a",), ["/a"]), (("/a", "/b", "/c"), ["/a", "/b", "/c"])]
)
def test_rocksdb_takes_its_directories_in_turn(
    monkeypatch: pytest.MonkeyPatch, directories: tuple[str, ...], turns: list[str | None]
) -> None:
    used: list[Any] = []
    monkeypatch.setattr(rocksdb, "RocksDBBackend", lambda *arguments: used.append(arguments[2]))
    make = BackendChoice(kind="rocksdb", memory=1, directories=directories).factory()
    for _ in range(2 * len(turns)):
        make(128)
    start = turns.index(used[0])
    expected = turns[start:] + turns[:start]
    assert used == expected + expected
