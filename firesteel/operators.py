"""What an operator of one's own is made of: docs/user-guide/operators.md says how.

Most programs need none: functions on streams (``map``, ``process``, ``window``) have state, timers and side outputs.
An operator is given whole batches and decides itself what becomes of watermarks; libraries put it into a program with
``transform`` of a stream.
"""

from firesteel.runtime.batch import RowBatch
from firesteel.runtime.contexts import KeyedTimerService
from firesteel.runtime.emission import SideBuffer, split_by_timestamps
from firesteel.runtime.operator import MultipleInputOperator, Operator, OperatorContext, Output
from firesteel.runtime.records import copied
from firesteel.state.backend import KeyedStateBackend, KeyScope, list_table, map_table, value_table
from firesteel.state.tables import ListTable, MapTable, ValueTable

__all__ = [
    "KeyScope",
    "KeyedStateBackend",
    "KeyedTimerService",
    "ListTable",
    "MapTable",
    "MultipleInputOperator",
    "Operator",
    "OperatorContext",
    "Output",
    "RowBatch",
    "SideBuffer",
    "ValueTable",
    "copied",
    "list_table",
    "map_table",
    "split_by_timestamps",
    "value_table",
]
