"""Patterns: CEP against a state machine written by hand, and against Flink's own library in Java."""
