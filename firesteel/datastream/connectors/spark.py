"""Everything that Spark can write, as a sink."""

from firesteel.connectors.spark_sink import SparkSink

__all__ = ["SparkSink"]
