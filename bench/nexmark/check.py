"""Runs queries to see what they answer, and compares it with the oracle."""

from __future__ import annotations

from typing import Any

from bench.nexmark.generator import NexmarkConfig, NexmarkGenerator
from bench.nexmark.model import Event
from bench.nexmark.oracle import Oracle, differences
from bench.nexmark.queries import QUERIES
from bench.nexmark.source import nexmark_events
from firesteel.common import WatermarkStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.testing import ManualClock, ScriptedSource, processing_time, use_clock

CHECKED_EVENTS = 3000
CHECK_CONFIG = NexmarkConfig(rate=100, out_of_order_group=100)
"""Thirty seconds of event time, so that there are several windows; a second out of order."""


def check(name: str, env: StreamExecutionEnvironment, oracle: Oracle) -> str | None:
    """Run a query over the events to check; what is wrong with its results, or None if nothing is."""
    return differences(name, QUERIES[name], results_of(name, env), oracle.answer(name))


def checked_events() -> list[Event]:
    """The events that are checked, in the order in which they are delivered."""
    return NexmarkGenerator(CHECK_CONFIG, CHECKED_EVENTS).events(0, CHECKED_EVENTS)


def results_of(name: str, env: StreamExecutionEnvironment) -> list[Any]:
    """All results of a query."""
    if name == "q12":
        return _with_a_clock_moved_by_hand(name, env)
    return _collect(QUERIES[name].build(nexmark_events(env, CHECKED_EVENTS, CHECK_CONFIG)))


def _with_a_clock_moved_by_hand(name: str, env: StreamExecutionEnvironment) -> list[Any]:
    """For windows of processing time: seven seconds pass after each thousand events, and more after the last, so that
    all windows end.
    """
    clock = ManualClock()
    script: list[Any] = []
    for number, event in enumerate(checked_events(), 1):
        script.append(event)
        if number % 1000 == 0:
            script.append(processing_time(number * 7))
    script.append(processing_time(CHECKED_EVENTS * 14))
    events = env.from_source(ScriptedSource(script, clock=clock), WatermarkStrategy.no_watermarks(), "events")
    with use_clock(clock):
        return _collect(QUERIES[name].build(events))


def _collect(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return list(results)
