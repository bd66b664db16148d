"""Jobs that are cancelled while their functions are busy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Configuration, JobClient, JobStatus
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import MapFunction
from firesteel.execution import ending


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "EPOCH_SECONDS", 0.05)
    monkeypatch.setattr(ending, "_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(ending, "_CLOSING_SECONDS", 0.1)


EVENTS: dict[str, threading.Event] = {}
"""Shared with the functions: they run in this process, but as copies."""


@pytest.fixture(autouse=True)
def events() -> Iterator[None]:
    EVENTS.update({name: threading.Event() for name in ("busy", "closed", "let go")})
    yield
    EVENTS["let go"].set()


class Busy(MapFunction):
    """Loops or waits for ever."""

    def __init__(self, waits: bool) -> None:
        self.waits = waits

    def map(self, value: Any) -> Any:
        EVENTS["busy"].set()
        if self.waits:
            EVENTS["let go"].wait()
        while not self.waits:
            pass
        return value

    def close(self) -> None:
        EVENTS["closed"].set()


def start(waits: bool, timeout: str) -> JobClient:
    settings = {"execution.target": "in-process", "task.cancellation.timeout": timeout}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_data_generator(lambda n: n, count=None).map(Busy(waits)).print()
    client = env.execute_async("busy")
    assert EVENTS["busy"].wait(30)
    return client


@pytest.mark.feature("RR-02")
def test_a_function_that_loops_for_ever_is_interrupted_and_closed() -> None:
    client = start(waits=False, timeout="1 min")

    client.cancel().result(30)

    assert client.get_job_status().result() is JobStatus.CANCELED
    assert EVENTS["closed"].is_set()


@pytest.mark.feature("RR-02")
def test_cancel_returns_though_a_function_in_this_process_waits_for_ever() -> None:
    client = start(waits=True, timeout="100 ms")

    client.cancel().result(30)

    assert client.get_job_status().result() is JobStatus.CANCELED
    assert not EVENTS["closed"].is_set()
    EVENTS["let go"].set()
    assert EVENTS["closed"].wait(30), "it is closed once it returns"
    assert client.get_job_status().result() is JobStatus.CANCELED
