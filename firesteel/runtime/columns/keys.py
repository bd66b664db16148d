"""Keys of column batches: the same keys, in the same key groups, as if the records were rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.errors import KeyError_
from firesteel.runtime.columns.batch import ColumnBatch
from firesteel.runtime.columns.values import python_values
from firesteel.runtime.frozen_key import frozen
from firesteel.runtime.partitioners import KeyFields
from firesteel.state.key_groups import subtask_of_key

_MEMO_LIMIT = 1 << 20


def key_arrays(batch: ColumnBatch, fields: KeyFields) -> list[Any]:
    """The columns that the key is made of."""
    schema = batch.columns.schema
    for field in fields.fields:
        count = schema.names.count(field) if isinstance(field, str) else int(field < len(schema.names))
        if count != 1:
            raise KeyError_(
                f"key_by({field!r}): {'there is no such column' if not count else 'several columns have this name'}; "
                f"the columns are: {', '.join(schema.names)}"
            )
    return [batch[field] for field in fields.fields]


def python_keys(columns: list[Any], single: bool) -> list[Any]:
    """The keys in rows of key columns, as Python values."""
    parts = [list(map(frozen, python_values(column))) for column in columns]
    return parts[0] if single else list(zip(*parts))


def _coded(columns: list[Any], single: bool) -> tuple[Any, list[Any]]:
    """A number for each record, the same for the same key, and the key that each number stands for."""
    codes, values = _codes(columns[0])
    if len(columns) == 1:
        return codes, values if single else [(value,) for value in values]
    for column in columns[1:]:
        more, others = _codes(column)
        _, codes = np.unique(codes * len(others) + more, return_inverse=True)  # small again: many would not fit
    _, firsts, codes = np.unique(codes, return_index=True, return_inverse=True)
    places = pa.array(firsts)
    return codes, python_keys([column.take(places) for column in columns], single)


def _codes(column: Any) -> tuple[Any, list[Any]]:
    """A number for each value of a column, and the value that each number stands for."""
    try:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        encoded = column.dictionary_encode("encode")
        return encoded.indices.to_numpy().astype(np.int64), list(map(frozen, python_values(encoded.dictionary)))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # a list, a struct: by their Python values
        numbers: dict[Any, int] = {}
        keys = map(frozen, python_values(column))
        return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64), list(numbers)


class KeyTargets:
    """Which subtask each record of a batch goes to, by its key. Looks at each different key of a batch once."""

    def __init__(self, fields: KeyFields, targets: int, max_parallelism: int) -> None:
        self._fields = fields
        self._targets = targets
        self._max_parallelism = max_parallelism
        self._known: dict[Any, int] = {}

    def __call__(self, batch: ColumnBatch) -> Any:
        """The number of the target for each record, as an array."""
        codes, keys = _coded(key_arrays(batch, self._fields), self._fields.single)
        return np.array([self._target(key) for key in keys], dtype=np.int16)[codes]

    def _target(self, key: Any) -> int:
        target = self._known.get(key)
        if target is None:
            if len(self._known) >= _MEMO_LIMIT:
                self._known.clear()
            target = self._known[key] = subtask_of_key(key, self._targets, self._max_parallelism)
        return target

    @property
    def only_none(self) -> bool | None:
        """Whether None was the only key so far; None if there was no record yet."""
        return None if not self._known else set(self._known) == {None}
