"""Vectors: those of Spark's MLlib, made when they are asked for."""

from __future__ import annotations

from typing import Any

__all__ = ["Vectors"]


class Vectors:
    """Makes vectors, for the columns that stages read."""

    @staticmethod
    def dense(*values: Any) -> Any:
        """A vector of the given numbers, given one by one or as one sequence."""
        from pyspark.ml.linalg import Vectors as SparkVectors

        return SparkVectors.dense(*values)

    @staticmethod
    def sparse(size: int, *args: Any) -> Any:
        """A vector of mostly zeros: ``sparse(4, {1: 1.0})``, ``sparse(4, [(1, 1.0)])`` or ``sparse(4, [1], [1.0])``."""
        from pyspark.ml.linalg import Vectors as SparkVectors

        return SparkVectors.sparse(size, *args)
