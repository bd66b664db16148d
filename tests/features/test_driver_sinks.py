"""Sinks that end in the driver: what goes wrong with a record is said where it happens, a broken sink ends the job."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import RestartStrategies, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import JobFailedError
from tests.features.executors import MakeEnv, on_both


class Unprintable:
    def __str__(self) -> str:
        raise ValueError("no words for this")

    def __repr__(self) -> str:
        return "Unprintable()"


@pytest.mark.feature("TY-07")
@on_both
def test_a_record_that_does_not_fit_its_type_fails_the_job_at_print(make_env: MakeEnv) -> None:
    env = make_env(1)
    env.from_collection([(1, "a"), (1, 2)]).map(lambda pair: pair, Types.TUPLE([Types.INT(), Types.STRING()])).print()
    with pytest.raises(JobFailedError) as failure:
        env.execute()
    assert str(failure.value).startswith("TypeMismatchError: a record of print() is declared as")
    assert "operator: Sink: Print to Std. Out" in str(failure.value)
    assert "record:   (1, 2)" in str(failure.value)


def test_a_record_whose_text_cannot_be_made_fails_the_job_and_is_named(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda _: Unprintable()).print()
    with pytest.raises(JobFailedError, match=r"(?s)^ValueError: no words for this.*record:   Unprintable\(\)"):
        env.execute()


class Broken:
    exactly_once = False
    offered = 0

    def accept(self, subtask: int, values: list[Any]) -> None:
        self.offered += 1
        raise BrokenPipeError("nobody reads")

    def finished(self, error: BaseException | None) -> None:
        self.error = error


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize("checkpoints", [False, True])
def test_a_sink_that_breaks_ends_the_job_without_restarts(
    env: StreamExecutionEnvironment, exactly_once: bool, checkpoints: bool
) -> None:
    sink = Broken()
    sink.exactly_once = exactly_once
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
    if checkpoints:
        env.enable_checkpointing(10)
    env.from_collection([1, 2])._collect_into(sink)
    with pytest.raises(JobFailedError, match=r"Broken, a sink in the driver, could not take .* BrokenPipeError: no"):
        env.execute()
    assert sink.offered == 1
    assert isinstance(sink.error, JobFailedError)
