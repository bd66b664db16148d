"""The DataStream API: programs over streams of records, with state, timers and event time.

Start with :class:`StreamExecutionEnvironment`. Functions to derive from are also in
:mod:`firesteel.datastream.functions`, state descriptors in :mod:`firesteel.datastream.state`, window assigners and
triggers in :mod:`firesteel.datastream.window`.
"""

from firesteel.datastream.async_data_stream import AsyncDataStream
from firesteel.datastream.checkpoint_config import CheckpointConfig
from firesteel.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from firesteel.datastream.checkpointing_mode import CheckpointingMode
from firesteel.datastream.data_stream import (
    BroadcastConnectedStream,
    BroadcastStream,
    CachedDataStream,
    CloseableIterator,
    ConnectedStreams,
    DataStream,
    DataStreamSink,
    IterativeStream,
    KeyedStream,
    MultipleConnectedStreams,
    WindowedStream,
)
from firesteel.datastream.execution_mode import RuntimeExecutionMode
from firesteel.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from firesteel.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    TimerService,
    WindowFunction,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from firesteel.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    StateBackend,
)
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.datastream.time_characteristic import TimeCharacteristic
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.window import (
    CountWindow,
    GlobalWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)
from firesteel.pyflink.error_display import install_display as _install_display

__all__ = [
    # programs and streams
    "StreamExecutionEnvironment",
    "DataStream",
    "KeyedStream",
    "MultipleConnectedStreams",
    "WindowedStream",
    "ConnectedStreams",
    "BroadcastStream",
    "BroadcastConnectedStream",
    "IterativeStream",
    "AsyncDataStream",
    "CachedDataStream",
    "DataStreamSink",
    "CloseableIterator",
    "OutputTag",
    # functions
    "MapFunction",
    "FlatMapFunction",
    "FilterFunction",
    "ReduceFunction",
    "AggregateFunction",
    "KeySelector",
    "Partitioner",
    "CoMapFunction",
    "CoFlatMapFunction",
    "ProcessFunction",
    "KeyedProcessFunction",
    "CoProcessFunction",
    "KeyedCoProcessFunction",
    "BroadcastProcessFunction",
    "KeyedBroadcastProcessFunction",
    "WindowFunction",
    "ProcessWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "SourceFunction",
    "SinkFunction",
    "RuntimeContext",
    "TimerService",
    "TimeDomain",
    # windows
    "Window",
    "TimeWindow",
    "CountWindow",
    "GlobalWindow",
    "WindowAssigner",
    "MergingWindowAssigner",
    "Trigger",
    "TriggerResult",
    # settings
    "RuntimeExecutionMode",
    "TimeCharacteristic",
    "CheckpointConfig",
    "CheckpointingMode",
    "ExternalizedCheckpointRetention",
    "CheckpointStorage",
    "JobManagerCheckpointStorage",
    "FileSystemCheckpointStorage",
    "CustomCheckpointStorage",
    "StateBackend",
    "HashMapStateBackend",
    "EmbeddedRocksDBStateBackend",
    "CustomStateBackend",
    "FsStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "SlotSharingGroup",
    "MemorySize",
]

_install_display()
