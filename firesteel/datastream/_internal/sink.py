"""DataStreamSink: the end of a line."""

from __future__ import annotations

from firesteel.datastream._internal.operator_settings import OperatorSettings
from firesteel.plan.graph import OperatorTransformation, PhysicalTransformation


class DataStreamSink(OperatorSettings):
    """A sink of the program. Its operator can be named and set like any other.

    ::

        stream.add_sink(write_to_table).name("table").set_parallelism(1)
    """

    def __init__(self, transformation: OperatorTransformation) -> None:
        self._node = transformation

    def __repr__(self) -> str:
        return f"DataStreamSink({self._node.name!r}, made at {self._node.call_site})"

    def _operator(self, method: str) -> PhysicalTransformation:
        return self._node
