"""A slot process, as its relays and its keeper see it: requests over a socket, SIGTERM at the end."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

import pytest

from firesteel.execution.host import LevelTask, result_of
from firesteel.execution.results import SubtaskDone
from firesteel.execution.worker_plan import worker_plan
from firesteel.runtime.epoch import EpochRequest
from firesteel.state import codec
from tests.unit.plan.programs import word_count

PROGRAM = """
import os, socket, sys
from firesteel.execution.spark.slot import run_slot
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
run_slot(listener, b"secret", int(sys.argv[2]), 0, os.path.dirname(sys.argv[1]))
"""


@dataclass
class Slot:
    """A slot process of this test."""

    process: subprocess.Popen[str]
    address: str
    problems: int

    def connect(self, secret: bytes = b"secret") -> Connection:
        return Client(self.address, "AF_UNIX", authkey=secret)

    def ask(self, task: bytes, index: int, plan: bytes | None = None) -> tuple[str, Any]:
        """What a relay does: send the task, and the plan if it is asked for."""
        with self.connect() as connection:
            connection.send_bytes(pickle.dumps(("run", (task, index, "first", [codec.dumps({index: {}})]))))
            kind, answer = pickle.loads(connection.recv_bytes())
            if kind == "plan?" and plan is not None:
                connection.send_bytes(pickle.dumps(("plan", (plan, [], os.path.dirname(self.address), False))))
                kind, answer = pickle.loads(connection.recv_bytes())
        return kind, answer


@pytest.fixture(scope="module")
def slot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slot]:
    address = str(tmp_path_factory.mktemp("slot") / "socket")
    reading, writing = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    command = [sys.executable, "-c", PROGRAM, address, str(writing)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=[writing], env=environment)
    os.close(writing)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield Slot(process, address, reading)
    process.stdout.close()
    process.kill()
    process.wait()
    os.close(reading)


def task(epoch: int, fresh: bool = True) -> bytes:
    return codec.dumps(LevelTask("job", 0, -1, "", EpochRequest(epoch=epoch, generation=0, now=0), fresh=fresh))


def test_a_slot_serves_its_job_until_it_is_told_to_end(slot: Slot) -> None:
    """One process for all of it: starting one is what costs."""
    plan = codec.dumps(worker_plan(word_count(parallelism=2), "job"))

    with pytest.raises(AuthenticationError):
        slot.connect(b"a stranger's")

    assert slot.ask(b"no task at all", 0)[0] == "error", "the task fails, not the process"

    kind, rows = slot.ask(task(1), 1, plan)
    assert kind == "rows"
    (result,) = [result_of(row) for _, row in rows]
    assert isinstance(result, SubtaskDone)
    assert (result.level, result.index, result.attempt, result.place.pid) == (0, 1, "first", slot.process.pid)

    kind, rows = slot.ask(task(2, fresh=False), 1)
    assert kind == "rows", "the plan and the subtask are there still"
    (again,) = [result_of(row) for _, row in rows]
    assert isinstance(again, SubtaskDone)

    kind, rows = slot.ask(task(7, fresh=False), 1)
    (lost,) = {type(result_of(row)).__name__ for _, row in rows}
    assert lost == "StateLost", "it does not stand after epoch 6"

    slot.process.send_signal(signal.SIGTERM)
    assert pickle.loads(os.read(slot.problems, 1 << 16)) == []
    assert slot.process.wait() == 0
