"""The streams of the API, under the module name that PyFlink has for them."""

from firesteel.datastream.broadcast_streams import BroadcastConnectedStream, BroadcastStream
from firesteel.datastream.cache import CachedDataStream
from firesteel.datastream.collect import CloseableIterator
from firesteel.datastream.connected_streams import ConnectedStreams
from firesteel.datastream.interval_join import IntervalJoin, IntervalJoined
from firesteel.datastream.iterations import IterativeStream
from firesteel.datastream.joined_streams import CoGroupedStreams, JoinedStreams
from firesteel.datastream.keyed_stream import KeyedStream
from firesteel.datastream.sink import DataStreamSink
from firesteel.datastream.stream import DataStream
from firesteel.datastream.windowed_stream import AllWindowedStream, WindowedStream

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
