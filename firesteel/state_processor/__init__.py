"""Reading state out of savepoints and checkpoints, and making savepoints out of data.

::

    savepoint = SavepointReader.read("file:///savepoints/savepoint-1")
    df = savepoint.read_keyed_state("totals", "sum", Types.STRING(), Types.LONG())   # a Spark DataFrame

    (SavepointWriter.new_savepoint()
        .with_keyed_operator("totals", rows, lambda row: row[0], LoadTotals())
        .write("file:///savepoints/bootstrap"))
"""

from __future__ import annotations

from firesteel.state_processor.reader import SavepointReader, StoredOperator, StoredState
from firesteel.state_processor.writer import SavepointWriter

__all__ = ["SavepointReader", "SavepointWriter", "StoredOperator", "StoredState"]
