"""Files of checkpoints that are cut off, changed or missing while no process looks."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from firesteel.state.store import CheckpointStore

DAMAGES = ("cut off", "changed", "missing")


def damage_file(path: Path, how: str, choice: random.Random) -> None:
    """Cut a file off, change one byte of it, or delete it."""
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "cut off":
        path.write_bytes(content[: choice.randrange(len(content))])
    else:
        at = choice.randrange(len(content))
        path.write_bytes(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])


def files_of_last_checkpoint(directory: Path) -> list[Path]:
    """The manifest of the last completed checkpoint and the state files it needs."""
    store = CheckpointStore(str(directory))
    newest = store.checkpoint_ids()[-1]
    names = sorted(store.read_checkpoint(newest).all_files())
    return [directory / f"chk-{newest}" / "_metadata", *(directory / "state" / name for name in names)]


def files_of_no_checkpoint(directory: Path) -> list[Path]:
    """State files that no completed checkpoint needs: of one that was not completed, or of an old one."""
    store = CheckpointStore(str(directory))
    needed = set().union(*(store.read_checkpoint(number).all_files() for number in store.checkpoint_ids()))
    return [directory / "state" / name for name in sorted(set(store.state_names()) - needed)]


@dataclass
class Copy:
    """All files below a directory as they were, but for those that say who has it and what has happened."""

    directory: Path
    files: dict[Path, bytes]

    @staticmethod
    def of(directory: Path) -> Copy:
        files = [path for path in directory.rglob("*") if path.is_file() and path.name != "_lock"]
        kept = [path for path in files if not path.is_relative_to(directory / "events")]
        return Copy(directory, {path: path.read_bytes() for path in kept})

    def restore(self) -> None:
        """Put everything back."""
        shutil.rmtree(self.directory)
        for path, content in self.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
