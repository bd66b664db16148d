"""Flink's stateful stream processing in Python, executed on Apache Spark."""

import importlib
import sys

__version__ = "0.1.0.dev0"


class _Missing:
    """Stands behind Python's own finders: a module of this package that none of them has found does not exist.

    The error then says what does. Reached by name, because this module stands below all others.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name.startswith("firesteel."):
            missing = importlib.import_module("firesteel.pyflink.missing")
            raise ModuleNotFoundError(missing.missing_module(name), name=name)


sys.meta_path.append(_Missing)
