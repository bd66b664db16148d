"""The catalogue of built-in functions: one entry for each function of Flink's documentation, family by family."""

from firesteel.table.functions.aggregates import Aggregator
from firesteel.table.functions.casting import CastError, cast_function, text_function
from firesteel.table.functions.definition import (
    Argument,
    Call,
    Function,
    FunctionError,
    FunctionKind,
    Session,
    find_function,
    functions,
)
from firesteel.table.functions.families import FAMILIES
from firesteel.table.functions.variants import Variant

__all__ = [
    "FAMILIES",
    "Aggregator",
    "Argument",
    "Call",
    "CastError",
    "Function",
    "FunctionError",
    "FunctionKind",
    "Session",
    "Variant",
    "cast_function",
    "find_function",
    "functions",
    "text_function",
]
