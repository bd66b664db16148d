"""Members and conductor of direct exchange over real sockets, without Spark: each slot is a thread of this process."""

from __future__ import annotations

import os
import secrets
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, RestartStrategies, WatermarkStrategy
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution import in_process
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.direct.conductor import Conductor
from firesteel.execution.direct.door import Pass
from firesteel.execution.direct.member import Member, Membership, Place
from firesteel.execution.direct.orders import slot_orders
from firesteel.execution.host import SubtaskHost
from firesteel.execution.results import LevelResult, SubtaskDone
from firesteel.execution.worker_plan import worker_plan
from firesteel.plan.job_plan import JobPlan


class Threads:
    """A cluster whose slots are threads. A failure ends them; the next epoch begins with new ones."""

    pinned = flows = True
    slots = 3
    encrypted = False
    by_port = False
    window = 1 << 20

    def __init__(self, plan: JobPlan, job_id: str) -> None:
        self._plan = worker_plan(plan, job_id)
        self._conductor: Conductor | None = None
        self._members: list[threading.Thread] = []

    def _start(self) -> Conductor:
        self._folder = tempfile.mkdtemp()
        ticket = Pass(secrets.token_bytes(32), self.encrypted)
        conductor = Conductor(self.slots, ticket, "127.0.0.1", range(1), lambda: None)
        membership = Membership(self.slots, conductor.address, ticket, range(1), self.window)
        for slot in range(self.slots):
            host = SubtaskHost()
            host.add_plan(self._plan)
            place = Place(slot, self._folder, f"slot-{slot}", "127.0.0.1" if self.by_port else None)
            member = _HiddenFolder(membership, place, host, self._plan.widths, self.by_port)
            thread = threading.Thread(target=member.take_part, daemon=True)
            thread.start()
            self._members.append(thread)
        assert conductor.gather(20)
        return conductor

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        if self._conductor is None:
            self._conductor = self._start()
        orders = slot_orders(order, self._plan.job_id, self._plan.widths, self.slots)
        results = self._conductor.run(orders, order.request.time_budget_ms / 1000)
        if not all(isinstance(result, SubtaskDone) for result in results):
            self.close()
        return results

    def interrupt(self) -> None:
        return None

    def close(self) -> list[str]:
        if self._conductor is not None:
            self._conductor.dismiss()
            self._conductor = None
        for thread in self._members:
            thread.join(20)
            assert not thread.is_alive()
        self._members = []
        assert not list(Path(self._folder).iterdir()), "sockets are left"
        return []


class _HiddenFolder(Member):
    """A member that does not say where its folder is, as if it were on another host."""

    def __init__(self, membership: Membership, place: Place, host: SubtaskHost, widths: Any, hidden: bool) -> None:
        super().__init__(membership, place, host, widths)
        if hidden:
            self._door.listen_in_folder = lambda folder, name: None  # type: ignore[method-assign]


@pytest.fixture(params=["unix", "port", "encrypted"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Threads, "by_port", request.param != "unix")
    monkeypatch.setattr(Threads, "encrypted", request.param == "encrypted")
    monkeypatch.setattr(in_process, "InProcessCluster", Threads)
    yield


def environment(options: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"execution.target": "in-process", **(options or {})})
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def results(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as collected:
        return list(collected)


def sums(env: StreamExecutionEnvironment, numbers: int, keys: int) -> Any:
    return (
        env.from_sequence(1, numbers)
        .map(lambda number: (number % keys, number))
        .key_by(lambda pair: pair[0])
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


def last(collected: list[tuple[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for key, total in collected:
        found[key] = max(total, found.get(key, 0))
    return found


def truth(numbers: int, keys: int) -> dict[int, int]:
    return {key: sum(number for number in range(1, numbers + 1) if number % keys == key) for key in range(keys)}


@pytest.mark.feature("RT-06")
@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("parallelism", [1, 2, 4])
def test_slots_exchange_chunks(parallelism: int) -> None:
    collected = results(sums(environment().set_parallelism(parallelism), 10_000, 7))
    assert len(collected) == 10_000
    assert last(collected) == truth(10_000, 7)


@pytest.mark.feature("RT-06")
@pytest.mark.usefixtures("threads")
def test_a_failure_takes_the_job_back_to_its_last_checkpoint(tmp_path: Path) -> None:
    env = environment({"firesteel.epoch.max-records": "500"}).set_parallelism(3)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    failed = str(tmp_path / "failed")

    def fail_once(pair: tuple[int, int]) -> tuple[int, int]:
        if pair[1] > 200_000 and not os.path.exists(failed):
            Path(failed).touch()
            raise ValueError("once")
        return pair

    collected = results(sums(env, 5_000, 7).map(fail_once))
    assert os.path.exists(failed)
    assert last(collected) == truth(5_000, 7)
    assert len(collected) == 5_000


@pytest.mark.usefixtures("threads")
def test_a_small_window_only_slows_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Threads, "window", 1)
    collected = results(sums(environment({"firesteel.chunk.max-records": "10"}).set_parallelism(3), 3_000, 7))
    assert len(collected) == 3_000
    assert last(collected) == truth(3_000, 7)


@pytest.mark.usefixtures("threads")
def test_an_epoch_ends_when_a_checkpoint_is_due() -> None:
    env = environment({"firesteel.epoch.target-duration": "1 h"}).set_parallelism(2)
    env.enable_checkpointing(20)
    source = DataGeneratorSource(int, 1200, RateLimiterStrategy.per_second(2000))
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").key_by(lambda number: number % 7).print()
    client = env.execute_async()
    client.get_job_execution_result().result()
    assert len(client.get_checkpoints()) >= 3
