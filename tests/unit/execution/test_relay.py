"""The relay in Spark's Python workers: what it asks a slot, what it makes of the answers, and of their absence."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.execution.spark import relay as relay_module
from firesteel.execution.spark.relay import SlotSettings, close_job, relay

SETTINGS = SlotSettings("job", 2, b"secret", b"keeper", ["/program"], ["packages.zip"], False, None, 1.0, 1.0)
PLAN = SimpleNamespace(value=b"the plan")
Slot = Callable[[Connection], None]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Slot], list[int]]]:
    """Let a function play the slot at the other end of the connection; gives the slots that were asked for."""
    threads: list[threading.Thread] = []
    asked: list[int] = []

    def prepare(slot: Slot) -> list[int]:
        def answered(number: int, settings: SlotSettings) -> Connection:
            asked.append(number)
            here, there = Pipe()

            def play() -> None:
                with there:
                    slot(there)

            threads.append(threading.Thread(target=play))
            threads[-1].start()
            return here

        monkeypatch.setattr(relay_module, "_connect", answered)
        return asked

    yield prepare
    for thread in threads:
        thread.join()


def test_a_task_s_rows_go_to_its_slot_and_the_answer_comes_back(connect: Callable[[Slot], list[int]]) -> None:
    heard: list[Any] = []

    def slot(connection: Connection) -> None:
        heard.append(pickle.loads(connection.recv_bytes()))
        connection.send_bytes(pickle.dumps(("rows", [(0, "made"), (1, "too")])))

    asked = connect(slot)
    rows = iter([(3, "a"), (3, None), (3, "b")])
    assert list(relay(b"task", PLAN, SETTINGS)(3, rows)) == [(0, "made"), (1, "too")]
    assert heard == [("run", (b"task", 3, "0", ["a", "b"]))]
    assert asked == [1], "the subtask's number, dealt out over the slots of the executor"
    assert list(rows) == [], "Spark reuses a worker only if its input was consumed"


def test_a_slot_that_does_not_know_the_job_is_sent_the_plan(
    connect: Callable[[Slot], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark.SparkFiles._is_running_on_worker", True)
    monkeypatch.setattr("pyspark.SparkFiles._root_directory", "/files")
    heard: list[Any] = []

    def slot(connection: Connection) -> None:
        connection.recv_bytes()
        connection.send_bytes(pickle.dumps(("plan?", None)))
        heard.append(pickle.loads(connection.recv_bytes()))
        connection.send_bytes(pickle.dumps(("rows", [])))

    connect(slot)
    assert list(relay(b"task", PLAN, SETTINGS)(0, [])) == []
    (kind, (plan, path, files, data_archives)) = heard[0]
    assert (kind, plan, data_archives) == ("plan", b"the plan", False)
    assert files == "/files" and "/program" in path and "/files/packages.zip" in path


def test_input_may_come_by_broadcast(connect: Callable[[Slot], list[int]]) -> None:
    heard: list[Any] = []

    def slot(connection: Connection) -> None:
        heard.append(pickle.loads(connection.recv_bytes())[1][3])
        connection.send_bytes(pickle.dumps(("rows", [])))

    connect(slot)
    inputs = SimpleNamespace(value=["first", "second"])
    assert list(relay(b"task", PLAN, SETTINGS, inputs)(1, [(1, None)])) == []
    assert heard == [["second"]]


def test_what_a_slot_could_not_do_fails_the_task_with_its_traceback(connect: Callable[[Slot], list[int]]) -> None:
    def slot(connection: Connection) -> None:
        connection.recv_bytes()
        connection.send_bytes(pickle.dumps(("error", "Traceback: out of luck")))

    connect(slot)
    with pytest.raises(RuntimeError, match="out of luck"):
        list(relay(b"task", PLAN, SETTINGS)(0, []))


def test_a_slot_that_dies_is_named(connect: Callable[[Slot], list[int]]) -> None:
    connect(lambda connection: None)
    with pytest.raises(RuntimeError, match="the slot process of subtask 5 has died"):
        list(relay(b"task", PLAN, SETTINGS)(5, []))


def test_closing_where_nothing_ever_ran_is_no_error(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert list(close_job(SETTINGS)(0, [1, 2])) == []
