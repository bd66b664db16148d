"""Between the format in which records come and the one that an operator wants."""

from __future__ import annotations

from firesteel.common.formats.arrow_columns import row_columns
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.runtime.batch import Format
from firesteel.runtime.operator import ChainLink, Receiver
from firesteel.runtime.partitioners import KeyFields


def receiver(
    link: ChainLink,
    receive: Receiver,
    comes: Format,
    wanted: Format,
    row_type: RowTypeInfo | None = None,
    key_fields: KeyFields | None = None,
) -> Receiver:
    """What takes the batches of an edge: ``receive`` itself, unless they have to be turned around before.

    :param link: Whose input it is: a record that does not fit is an error of this operator.
    :param row_type: The declared type of rows that are to become columns.
    :param key_fields: Of columns that are to become rows with keys: the fields of the key.
    """
    if comes is wanted:
        return receive
    # Imported where there are columns: Arrow takes its time, and most programs have rows only.
    from firesteel.runtime.columns.batch import ColumnBatch
    from firesteel.runtime.columns.keys import key_arrays, python_keys

    if wanted is Format.ROWS:

        def as_rows(batch: ColumnBatch) -> None:
            rows = link.call(batch.rows)
            if key_fields is not None:
                rows.keys = link.call(python_keys, key_arrays(batch, key_fields), key_fields.single)
            receive(rows)

        return as_rows
    assert row_type is not None
    columns = row_columns(row_type, utc=False)
    return lambda batch: receive(link.call(ColumnBatch.of_rows, batch, columns))
