"""How stages are stored: a directory with ``metadata.json``, and ``data`` and ``stages`` where there are any.

::

    metadata.json     {"format": "firesteel.ml", "version": 1, "stage": "KMeansModel", "params": {"k": 2, ...}, ...}
    data/model.parquet    one row: a column for each thing that the model has learned
    stages/0/...          the stages of a pipeline or graph, each a directory like this one

A stage of Firesteel is known by its name, whatever module it is in; one of a program by ``module:Class``.
"""

from __future__ import annotations

import importlib
import io
import json
from typing import TYPE_CHECKING, Any

from firesteel.errors import CheckpointError, ConfigurationError, ProgramError
from firesteel.state.filesystem import FileStore, file_store

if TYPE_CHECKING:
    from firesteel.ml.api import Stage

FORMAT = "firesteel.ml"
VERSION = 1
_PACKAGES = ("builder", "feature", "classification", "clustering", "regression", "evaluation", "online")
_METADATA, _DATA = "metadata.json", "data/model.parquet"


class Saving:
    """A directory that a stage is being written to."""

    def __init__(self, store: FileStore, folder: str = "") -> None:
        self._store, self._folder = store, folder
        self.extra: dict[str, Any] = {}

    def value(self, name: str, value: Any) -> None:
        """Write something that JSON can hold into the metadata."""
        self.extra[name] = value

    def data(self, columns: dict[str, Any]) -> None:
        """Write model data: names, with numbers, texts or (nested) lists of them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.table({name: pa.array([value]) for name, value in columns.items()}), buffer)
        self._store.write(self._folder + _DATA, buffer.getvalue())

    def stages(self, stages: list[Stage]) -> None:
        """Write stages that are part of this one."""
        self.extra["stages"] = len(stages)
        for number, stage in enumerate(stages):
            _write(stage, Saving(self._store, f"{self._folder}stages/{number}/"))

    def finish(self, stage: Stage) -> None:
        """Write the metadata, last: without it there is no stage."""
        params = {param.name: json.loads(param.json_encode(value)) for param, value in stage.get_param_map().items()}
        metadata = {"format": FORMAT, "version": VERSION, "stage": _name_of(type(stage)), "params": params}
        text = json.dumps({**metadata, **self.extra}, indent=2)
        self._store.write(self._folder + _METADATA, text.encode())


class Saved:
    """A directory that a stage is read from."""

    def __init__(self, store: FileStore, folder: str = "") -> None:
        self._store, self._folder = store, folder
        self.metadata = self._read_metadata()

    def _read_metadata(self) -> dict[str, Any]:
        place = f"{self._store.uri}/{self._folder}".rstrip("/")
        try:
            metadata = json.loads(self._store.read(self._folder + _METADATA))
        except (CheckpointError, OSError):
            raise ConfigurationError(
                f"{place} holds no saved stage: there is no {_METADATA} in it. Is this the path given to save()?"
            ) from None
        except ValueError as error:
            raise ConfigurationError(f"{place}/{_METADATA} is not JSON: {error}.") from None
        if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
            raise ConfigurationError(f"{place} was not written by firesteel.ml: its metadata has another format.")
        if metadata.get("version") != VERSION:
            raise ConfigurationError(
                f"{place} has version {metadata.get('version')!r} of the format; this Firesteel reads {VERSION}. "
                "Load it with the release that wrote it, or a later one."
            )
        return metadata

    def value(self, name: str) -> Any:
        """What :meth:`Saving.value` has written, or None."""
        return self.metadata.get(name)

    def data(self) -> dict[str, Any]:
        """What :meth:`Saving.data` has written."""
        import pyarrow.parquet as pq

        try:
            content = self._store.read(self._folder + _DATA)
        except (CheckpointError, OSError):
            raise ConfigurationError(
                f"{self._store.uri}/{self._folder}{_DATA} is missing: the copy is not whole."
            ) from None
        row: dict[str, Any] = pq.read_table(io.BytesIO(content)).to_pylist()[0]
        return row

    def stages(self) -> list[Stage]:
        """What :meth:`Saving.stages` has written."""
        count = self.metadata.get("stages", 0)
        return [_read(Saved(self._store, f"{self._folder}stages/{number}/")) for number in range(count)]


def save_stage(stage: Stage, path: str) -> None:
    """Write a stage to a directory that holds none yet."""
    store = file_store(_checked(path))
    if store.exists(_METADATA):
        raise ConfigurationError(f"{path} holds a saved stage already. Choose another directory, or delete this one.")
    _write(stage, Saving(store))


def load_stage(path: str) -> Stage:
    """The stage that was saved in a directory, whatever it is."""
    return _read(Saved(file_store(_checked(path))))


def _checked(path: str) -> str:
    if not isinstance(path, str) or not path:
        raise ConfigurationError(f"path is a directory or URI as a str, got {path!r}.")
    return path


def _write(stage: Stage, saving: Saving) -> None:
    stage.save_content(saving)
    saving.finish(stage)


def _read(saved: Saved) -> Stage:
    cls = _class_of(saved.metadata["stage"])
    stage: Stage = cls()
    params = cls.params()
    for name, value in saved.metadata["params"].items():
        if name not in params:
            raise ConfigurationError(
                f"the saved {cls.__name__} has a parameter {name!r}, which the class does not have."
            )
        stage.get_param_map()[params[name]] = params[name].json_decode(json.dumps(value))
    stage.load_content(saved)
    return stage


def _name_of(cls: type[Stage]) -> str:
    if cls.__module__.startswith("firesteel.ml."):
        return cls.__name__
    if cls.__module__ == "__main__" or "<locals>" in cls.__qualname__:
        raise ProgramError(
            f"{cls.__qualname__} cannot be loaded again by another program: it is defined in the main script or in a "
            "function. Move it to a module."
        )
    return f"{cls.__module__}:{cls.__qualname__}"


def _class_of(name: str) -> Any:
    module_name, _, qualified = name.partition(":")
    if not qualified:
        for package in _PACKAGES:
            found = getattr(importlib.import_module(f"firesteel.ml.{package}"), name, None)
            if found is not None:
                return found
        raise ConfigurationError(
            f"there is no stage {name!r} in this Firesteel. Load it with the release that wrote it."
        )
    try:
        found = importlib.import_module(module_name)
        for part in qualified.split("."):
            found = getattr(found, part)
        if not hasattr(found, "load_content"):
            raise AttributeError("it is not a stage")
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"the saved stage is a {qualified} of {module_name}, which is not there: {error}."
        ) from None
    return found
