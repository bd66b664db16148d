"""The way to Delta tables: where one is, what is asked of it, and errors that name it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.errors import ConfigurationError, JobError

__all__ = ["DeltaTableError", "TablePlace", "checked_options", "checked_path", "deltalake"]


class DeltaTableError(JobError):
    """A Delta table has refused something, or cannot be reached. The text names the table and what was asked."""


def deltalake() -> Any:
    """The module ``deltalake``."""
    try:
        import deltalake
    except ImportError as error:
        raise ConfigurationError(
            "Delta tables need the package deltalake, in the driver and in the workers. Install firesteel[delta]."
        ) from error
    return deltalake


@dataclass(frozen=True, repr=False)
class TablePlace:
    """Where a table is, and how its storage is reached. What is printed of it has no keys of the storage."""

    path: str
    storage_options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"TablePlace({self.path!r})"

    def table(self, version: int | None = None) -> Any:
        """The table as it is now, or at a version; None if there is none."""
        try:
            return deltalake().DeltaTable(self.path, version=version, storage_options=dict(self.storage_options))
        except deltalake().exceptions.TableNotFoundError:
            return None

    def files(self) -> Any:
        """Arrow's file system with the table's folder as its root."""
        from pyarrow.fs import PyFileSystem

        deltalake()
        if "://" not in self.path:  # a local folder has to be there; elsewhere there are none
            os.makedirs(self.path, exist_ok=True)
        handler = importlib.import_module("deltalake.fs").DeltaStorageHandler
        return PyFileSystem(handler(self.path, dict(self.storage_options)))

    def explained(self, error: Exception, doing: str) -> DeltaTableError:
        """An error with what was being done, and where."""
        text = str(error)
        for name, value in self.storage_options.items():
            if any(word in name.lower() for word in ("secret", "key", "token", "password")) and value:
                text = text.replace(value, "***")
        return DeltaTableError(f"the Delta table {self.path}: {doing}: {type(error).__name__}: {text}")


def checked_path(path: Any) -> str:
    """A path or URL of a table. One without a scheme is made absolute: tasks may have other working directories."""
    if not isinstance(path, str) or not path:
        raise ConfigurationError(f"a Delta table has a path or URL, got {path!r}")
    return path if "://" in path else os.path.abspath(path)


def checked_options(options: Any) -> dict[str, str]:
    """Options of the storage: names and texts."""
    if not isinstance(options, Mapping) or not all(isinstance(each, str) for pair in options.items() for each in pair):
        raise ConfigurationError("storage options are a dict of texts, such as AWS_ENDPOINT_URL")
    return dict(options)
