"""What a file sink has written, as a reader sees it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def visible_files(base: Path) -> Iterator[Path]:
    """The files of a directory and those in it, without hidden ones. Hidden directories are not even entered: a job
    that runs tidies them up.
    """
    for directory, subdirectories, names in os.walk(base):
        subdirectories[:] = sorted(filter(_is_visible, subdirectories))
        yield from (Path(directory, name) for name in sorted(filter(_is_visible, names)))


def _is_visible(name: str) -> bool:
    return not name.startswith((".", "_"))


def note_syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of all files and directories that are forced to the disk from now on."""
    synced: list[str] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    return synced
