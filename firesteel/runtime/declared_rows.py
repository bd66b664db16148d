"""Operators whose output is declared as rows: what they emit becomes rows with the declared names.

In PyFlink that happens when records are written and read back between operators; here it happens on the way out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.types import Row
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import Output


def row_namer(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """From a record to a row with these names.

    Tuples and lists of the right length become rows, dicts too; a row without names gets them. Anything else is
    left as it is: whoever uses the declared type (``print``, a DataFrame) says that it does not fit.
    """
    template = Row(*names)
    count = len(names)

    def named(record: Any) -> Any:
        kind = record.__class__
        if kind is Row:
            if record._fields is not None or len(record) != count:
                return record
            row = template(*record)
            row.set_row_kind(record.get_row_kind())
            return row
        if (kind is tuple or kind is list) and len(record) == count:
            return template(*record)
        if kind is dict and record.keys() <= set(names):
            return template(*(record.get(name) for name in names))
        return record

    return named


class NamingOutput(Output):
    """The output of an operator that is declared to emit rows."""

    def __init__(self, names: tuple[str, ...], object_reuse: bool = False) -> None:
        super().__init__(object_reuse)
        self._named = row_namer(names)

    def emit(self, batch: RowBatch) -> None:
        """Send records on, as rows."""
        super().emit(RowBatch(list(map(self._named, batch.values)), batch.timestamps, batch.keys))
