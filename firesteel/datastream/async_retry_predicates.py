"""Cases in which an asynchronous call is tried again."""

from firesteel.model.functions.asynchronous import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]
