"""Patterns over streams: complex event processing, with the names of Flink's Java library.

::

    pattern = (
        Pattern.begin("small").where(lambda payment: payment.amount < 1)
        .next("large").where(lambda payment: payment.amount > 500)
        .within(Time.minutes(1))
    )
    alerts = CEP.pattern(payments.key_by("card"), pattern).select(lambda match: match["large"][0])
"""

from firesteel.cep.conditions import IterativeCondition, RichIterativeCondition, SimpleCondition
from firesteel.cep.dynamic import PatternUpdate
from firesteel.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    RichPatternFlatSelectFunction,
    RichPatternSelectFunction,
    TimedOutPartialMatchHandler,
)
from firesteel.cep.pattern import GroupPattern, Pattern
from firesteel.cep.pattern_stream import CEP, EventComparator, PatternStream
from firesteel.cep.quantifier import Quantifier, WithinType
from firesteel.cep.skipping import AfterMatchSkipStrategy
from firesteel.cep.trace import TracedPartial, TraceRecord
from firesteel.errors import MalformedPatternException

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "EventComparator",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternException",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "PatternUpdate",
    "Quantifier",
    "RichIterativeCondition",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "TraceRecord",
    "TracedPartial",
    "WithinType",
]
