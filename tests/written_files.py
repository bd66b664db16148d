"""What a file sink has written, as a reader sees it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def visible_files(base: Path) -> Iterator[Path]:
    """The files of a directory and those in it, without hidden ones. Hidden directories are not even entered: a job
    that runs tidies them up.
    """
    for directory, subdirectories, names in os.walk(base):
        subdirectories[:] = sorted(filter(_is_visible, subdirectories))
        yield from (Path(directory, name) for name in sorted(filter(_is_visible, names)))


def _is_visible(name: str) -> bool:
    return not name.startswith((".", "_"))
