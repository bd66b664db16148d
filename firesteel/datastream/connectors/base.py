"""What sources and sinks are made of, for those who write their own."""

from firesteel.connectors.base import DeliveryGuarantee, StreamTransformer, SupportsPreprocessing
from firesteel.connectors.two_phase import TwoPhaseCommitSinkFunction
from firesteel.model.coordinator import Coordinator, CoordinatorContext
from firesteel.model.sink import CommitRequest, Committer, Sink, SinkWriter, WriterContext
from firesteel.model.source import (
    Boundedness,
    DriverReader,
    DriverSource,
    ReaderContext,
    ReadResult,
    Source,
    SourceEvents,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = [
    "Boundedness",
    "CommitRequest",
    "Committer",
    "Coordinator",
    "CoordinatorContext",
    "DeliveryGuarantee",
    "DriverReader",
    "DriverSource",
    "ReadResult",
    "ReaderContext",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceEvents",
    "SourceReader",
    "SourceSplit",
    "SplitEnumerator",
    "StreamTransformer",
    "SupportsPreprocessing",
    "TwoPhaseCommitSinkFunction",
    "WriterContext",
]
