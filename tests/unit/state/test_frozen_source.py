"""A frozen copy of a database is read by a process that starts when something is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.errors import StateError
from firesteel.state.rocksdb.reader import FrozenSource


def test_nobody_reads_a_copy_of_which_nothing_is_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = FrozenSource(str(tmp_path / "gone before anybody could open it"))
    source.close()
    assert capfd.readouterr().err == ""


def test_a_copy_that_cannot_be_opened_is_an_error_when_it_is_asked(tmp_path: Path) -> None:
    source = FrozenSource(str(tmp_path / "not there"))
    with pytest.raises(StateError, match="its error output"):
        source.get_many([b"key"])
    source.close()
