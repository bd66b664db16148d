"""StreamExecutionEnvironment: where a program begins, and where it is run."""

from firesteel.datastream.data_stream import StreamExecutionEnvironment

__all__ = ["StreamExecutionEnvironment"]
