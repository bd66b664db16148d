"""The streams of the API, under the module name that PyFlink has for them."""

from firesteel.datastream._internal.broadcast_streams import BroadcastConnectedStream, BroadcastStream
from firesteel.datastream._internal.cache import CachedDataStream
from firesteel.datastream._internal.collect import CloseableIterator
from firesteel.datastream._internal.connected_streams import ConnectedStreams
from firesteel.datastream._internal.interval_join import IntervalJoin, IntervalJoined
from firesteel.datastream._internal.iterations import IterativeStream
from firesteel.datastream._internal.joined_streams import CoGroupedStreams, JoinedStreams
from firesteel.datastream._internal.keyed_stream import KeyedStream
from firesteel.datastream._internal.sink import DataStreamSink
from firesteel.datastream._internal.stream import DataStream
from firesteel.datastream._internal.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "IterativeStream",
    "KeyedStream",
    "WindowedStream",
]
