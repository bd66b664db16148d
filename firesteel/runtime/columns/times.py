"""Event times out of a column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from firesteel.common.watermark_strategy import FieldTimestampAssigner
from firesteel.errors import TypeMismatchError
from firesteel.runtime.columns.batch import ColumnBatch
from firesteel.runtime.columns.values import python_values

_PER_MILLISECOND = {"ms": 1, "us": 1000, "ns": 1_000_000}


def stamped_by(assigner: FieldTimestampAssigner, batch: ColumnBatch) -> ColumnBatch:
    """The batch with the timestamps that the assigner reads from a column."""
    names = batch.columns.schema.names
    field = assigner.field
    if (field not in names) if isinstance(field, str) else (field >= len(names)):
        raise TypeMismatchError(
            f"there is no column {field!r} to read timestamps from; the columns are {', '.join(names)}"
        )
    column = batch[field]
    if column.null_count:
        raise TypeMismatchError(
            f"column {field!r}, which event times are read from, has a null (record {column.is_null().index(True)} of "
            "this batch). Filter such records out before, or give them a time"
        )
    return batch.stamped(_milliseconds(column, assigner))


def _milliseconds(column: Any, assigner: FieldTimestampAssigner) -> Any:
    kind = column.type
    if types.is_integer(kind):
        return column.cast(pa.int64())
    if types.is_timestamp(kind) and kind.tz is not None:
        ticks = column.cast(pa.int64()).to_numpy()
        if kind.unit == "s":
            return pa.array(ticks * 1000)
        return pa.array(np.floor_divide(ticks, _PER_MILLISECOND[kind.unit]).astype(np.int64))
    # A date and time without a zone is one of the machine's zone, with its rules: that is for Python to say.
    return pa.array([assigner.to_milliseconds(value) for value in python_values(column)], pa.int64())
