"""Flink's stateful stream processing in Python, executed on Apache Spark."""

__version__ = "0.1.0.dev0"
