"""Topics in a SQLite database: a source that discovers them, and a two-phase sink."""

from sqlite_topics.sink import TopicSink
from sqlite_topics.source import TopicSource

__all__ = ["TopicSink", "TopicSource"]
