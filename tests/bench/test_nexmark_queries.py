"""Each query of Nexmark answers what Spark's batch SQL answers over the same events."""

from __future__ import annotations

from typing import Any

import pytest

from bench.nexmark.check import CHECK_CONFIG, check, checked_events, results_of
from bench.nexmark.model import DATE_TIME
from bench.nexmark.oracle import SQL, Oracle, differences
from bench.nexmark.queries import QUERIES
from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment


@pytest.fixture(scope="module")
def oracle(spark: Any) -> Oracle:
    return Oracle(spark, checked_events())


def environment(spark: Any = None, parallelism: int = 2) -> StreamExecutionEnvironment:
    options = {"execution.target": "spark" if spark else "in-process"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options), spark)
    env.set_parallelism(parallelism)
    return env


@pytest.mark.parametrize("name", QUERIES)
def test_in_process(name: str, oracle: Oracle) -> None:
    assert check(name, environment(), oracle) is None
    assert len(oracle.answer(name)) >= (1 if name == "q15" else 3), "the events say nothing about this query"


@pytest.mark.parametrize("name", ["q4", "q13"])
def test_on_spark(name: str, oracle: Oracle, spark: Any) -> None:
    assert check(name, environment(spark), oracle) is None


def test_there_is_an_oracle_for_each_query() -> None:
    assert list(SQL) == list(QUERIES)


def test_the_events_are_out_of_order() -> None:
    times = [event[DATE_TIME] for event in checked_events()]
    assert times != sorted(times)
    assert max(times) - min(times) > 2 * CHECK_CONFIG.max_delay


def test_processing_time_windows_are_cut_by_the_clock() -> None:
    """Three thousand events at 0, 7 and 14 seconds: two windows of ten seconds."""
    assert {(start, end) for _, _, start, end in results_of("q12", environment())} == {(0, 10_000), (10_000, 20_000)}


def test_a_wrong_answer_is_told() -> None:
    told = differences("q2", QUERIES["q2"], [(123, 1), (246, 7)], [(123, 1), (246, 2)])
    assert told == "q2: 2 rows, expected 2; missing: [(246, 2)]; should not be there: [(246, 7)]"
    assert differences("q2", QUERIES["q2"], [(123, 1)], [(123, 1), (123, 1)]) is not None


def test_of_updates_the_last_one_counts() -> None:
    assert differences("q4", QUERIES["q4"], [(10, 1.0), (11, 5.0), (10, 2.0)], [(10, 2.0), (11, 5.0)]) is None


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_each_query_says_what_it_asks(query: Any) -> None:
    assert query.title and len(query.build.__doc__) > len(query.title) + 10
