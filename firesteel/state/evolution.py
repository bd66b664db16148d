"""Reading state whose classes have changed since it was stored.

Objects are stored with the fields that they had. A dataclass that has got a field since then takes its default; a field
without a default, and a class that is gone, are errors that name the state.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from typing import Any

from firesteel.errors import StateMigrationError

_MISSING = dataclasses.MISSING


class _Unpickler(pickle.Unpickler):
    """Notes the dataclasses that it meets, which happens once per class and file."""

    def __init__(self, data: bytes | memoryview, uid: str) -> None:
        super().__init__(io.BytesIO(data))
        self._uid = uid
        self.dataclasses: set[type] = set()

    def find_class(self, module_name: str, global_name: str) -> Any:
        try:
            found = super().find_class(module_name, global_name)
        except (AttributeError, ImportError) as error:
            raise StateMigrationError(
                f"the state of operator {self._uid!r} holds objects of {module_name}.{global_name}, which cannot be "
                f"found: {error}. A class whose objects are in state keeps its module and name"
            ) from error
        if isinstance(found, type) and dataclasses.is_dataclass(found):
            self.dataclasses.add(found)
        return found


def load_fields(data: bytes | memoryview, uid: str) -> dict[str, Any]:
    """The fields of an operator's snapshot, without its keyed state. Dataclasses in it have all their fields."""
    fields, filler = _load(data, uid)
    if filler is not None:
        for name, content in fields["operator_state"].items():
            filler.fill(content, name)
        filler.fill(fields["own"], "(its own)")
    return fields


def load_deltas(data: bytes | memoryview, uid: str) -> dict[str, Any]:
    """Deltas of keyed state, by its name. Dataclasses in it have all their fields."""
    deltas, filler = _load(data, uid)
    if filler is not None:
        for name, content in deltas.items():
            filler.fill(content, name)
    return deltas


def _load(data: bytes | memoryview, uid: str) -> tuple[dict[str, Any], _Filler | None]:
    unpickler = _Unpickler(data, uid)
    try:
        stored: dict[str, Any] = unpickler.load()
    except TypeError as error:  # a class that does not take what was stored of its object, such as a longer NamedTuple
        raise StateMigrationError(
            f"an object in the state of operator {uid!r} cannot be made from what was stored of it: {error}. "
            "Fields that are added to a class need defaults"
        ) from error
    if not unpickler.dataclasses:
        return stored, None
    return stored, _Filler({cls: dataclasses.fields(cls) for cls in unpickler.dataclasses}, uid)


class _Filler:
    """Gives dataclass objects the fields that they lack."""

    def __init__(self, fields: dict[type, tuple[dataclasses.Field[Any], ...]], uid: str) -> None:
        self._fields = fields
        self._uid = uid

    def fill(self, value: Any, state: str) -> None:
        """Complete all objects in a value, at any depth."""
        cls = value.__class__
        if cls is dict:
            for key, entry in value.items():
                self.fill(key, state)
                self.fill(entry, state)
        elif cls is list or cls is tuple or cls is set:
            for entry in value:
                self.fill(entry, state)
        elif cls in self._fields:
            for field in self._fields[cls]:
                if field.name not in getattr(value, "__dict__", ()) and not _has_slot(value, field.name):
                    object.__setattr__(value, field.name, self._default(cls, field, state))
                self.fill(getattr(value, field.name), state)

    def _default(self, cls: type, field: dataclasses.Field[Any], state: str) -> Any:
        if field.default is not _MISSING:
            return field.default
        if field.default_factory is not _MISSING:
            return field.default_factory()
        raise StateMigrationError(
            f"state {state!r} of operator {self._uid!r} holds a {cls.__module__}.{cls.__qualname__} that was stored "
            f"without the field {field.name!r}, which has no default. Give the field a default"
        )


def _has_slot(value: Any, name: str) -> bool:
    """Whether a field that is a slot, not an entry of ``__dict__``, has been set."""
    return not hasattr(value, "__dict__") and hasattr(value, name)
