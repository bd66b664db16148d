"""What flows between operators: batches of records, and marks between them."""

from __future__ import annotations

from typing import Any, Final


class Batch:
    """Records in order, with a timestamp each (or none at all) and, behind a ``key_by``, a key each.

    Batches are shared between readers: nobody changes the lists of a batch they did not make.
    """

    __slots__ = ("keys", "timestamps", "values")

    def __init__(self, values: list[Any], timestamps: list[int] | None = None, keys: list[Any] | None = None) -> None:
        self.values = values
        self.timestamps = timestamps
        self.keys = keys

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Batch({self.values!r}, {self.timestamps!r}, {self.keys!r})"


class _Mark:
    """A named constant that stays itself when pickled."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


IDLE: Final = _Mark("IDLE")
"""The channel has nothing to say for now: its watermark does not hold others back."""

ACTIVE: Final = _Mark("ACTIVE")
"""The channel speaks again."""

END: Final = _Mark("END")
"""Nothing will ever come on this channel again."""

# An entry of a chunk: records as (values, timestamps, keys), a watermark as int, or one of the marks.
Entry = Any
