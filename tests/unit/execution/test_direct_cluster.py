"""Where the slots of a direct job go, who may connect, and what is said when there is no room: without Spark."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.errors import JobFailedError
from firesteel.execution.clock import use_clock
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.direct.door import Address, Pass
from firesteel.execution.direct.member import Member, Membership, Place, machine
from firesteel.execution.direct.slot_flow import SlotOrder
from firesteel.execution.host import SubtaskHost
from firesteel.execution.spark import cluster as cluster_module
from firesteel.execution.spark import direct_cluster as direct_module
from firesteel.execution.spark.dependencies import Dependencies
from firesteel.execution.spark.direct_cluster import DirectCluster
from firesteel.runtime.epoch import EpochRequest
from firesteel.state import codec
from tests.unit.execution.plans import plan_of

ORDER = EpochOrder(EpochRequest(epoch=1, generation=0, now=0), {}, None, True, None)


class Barrier:
    """Spark's job of a context without room: it waits until it is cancelled."""

    def __init__(self, context: Context, tasks: int) -> None:
        self._context = context
        context.tasks.append(tasks)

    def barrier(self) -> Barrier:
        return self

    def mapPartitionsWithIndex(self, function: Any) -> Barrier:
        return self

    def collect(self) -> None:
        assert self._context.cancelled.wait(20)
        raise RuntimeError("cancelled")


class Context:
    """A SparkContext that never runs anything."""

    applicationId = "application"
    master = "local[2]"

    def __init__(self, **settings: str) -> None:
        self.settings = {name.replace("_", "."): value for name, value in settings.items()}
        self.tasks: list[int] = []
        self.cancelled = threading.Event()
        self.running = 0

    def parallelize(self, values: Any, parts: int) -> Barrier:
        return Barrier(self, parts)

    def broadcast(self, value: Any) -> Any:
        return SimpleNamespace(value=value, destroy=lambda: None)

    def setJobGroup(self, *_: Any) -> None:
        return None

    def cancelJobGroup(self, _: str) -> None:
        self.cancelled.set()

    def getConf(self) -> dict[str, str]:
        return self.settings

    def statusTracker(self) -> Any:
        return SimpleNamespace(
            getJobIdsForGroup=lambda group: [1],
            getJobInfo=lambda job: SimpleNamespace(stageIds=[1]),
            getStageInfo=lambda stage: SimpleNamespace(numActiveTasks=self.running),
        )


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Membership]:
    """What slots are told, whom nobody starts."""
    memberships: list[Membership] = []

    def host_slots(packed: bytes, *_: Any) -> None:
        memberships.append(codec.loads(packed)[1])

    monkeypatch.setattr(direct_module, "host_slots", host_slots)
    monkeypatch.setattr(direct_module, "_SECONDS_FOR_EXECUTORS", 0.0)
    monkeypatch.setattr(cluster_module, "executor_slots", lambda context: 1)
    monkeypatch.setattr(direct_module, "free_cores", lambda context: 1)
    see_executors(monkeypatch, 2)
    return memberships


def see_executors(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(direct_module, "executor_count", lambda context: count)
    monkeypatch.setattr(direct_module, "default_parallelism", lambda context: count)


def cluster(context: Context, parallelism: int = 4, **options: str) -> DirectCluster:
    settings = {"firesteel.direct.start-timeout": "1 ms", **options}
    plan = plan_of(lambda env: env.from_sequence(1, 9).key_by(lambda n: n).print(), parallelism, settings)
    return DirectCluster(plan, "job", context, Dependencies([], False))


def start_in_vain(direct: DirectCluster) -> str:
    with pytest.raises(JobFailedError) as caught:
        direct._run(ORDER)
    return str(caught.value)


def test_a_job_for_which_there_is_no_room_says_how_many_cores_are_missing(told: list[Membership]) -> None:
    context = Context(spark_driver_host="127.0.0.1")
    context.master = "spark://somewhere"
    direct = cluster(context)
    said = start_in_vain(direct)
    assert "needs 2 free core(s), one on each executor" in said
    assert "1 are free, so 1 are missing" in said
    assert context.cancelled.is_set()
    assert direct.close() == []
    assert context.tasks == [2], "nothing was placed, so nothing has to be closed, for which there may be no core"


def test_slots_that_run_and_do_not_come_cannot_reach_the_driver(told: list[Membership]) -> None:
    context = Context()
    context.running = 1
    assert "Can executors reach the driver at spark.driver.host" in start_in_vain(cluster(context))


def test_after_an_executor_was_lost_for_good_the_job_goes_on_with_those_that_are_left(
    told: list[Membership], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = Context(spark_driver_host="127.0.0.1")
    context.master = "spark://somewhere"
    direct = cluster(context)
    start_in_vain(direct)
    see_executors(monkeypatch, 1)
    start_in_vain(direct)
    assert [each.slots for each in told] == [2, 1]
    assert context.tasks == [2, 1]


def test_in_local_mode_the_driver_listens_on_the_loopback_only(told: list[Membership]) -> None:
    start_in_vain(cluster(Context(spark_driver_host="127.0.0.9", spark_driver_bindAddress="0.0.0.0")))
    assert told[0].conductor.host == "127.0.0.1"


def test_on_a_cluster_slots_find_the_driver_where_executors_do(told: list[Membership]) -> None:
    context = Context(spark_driver_host="127.0.0.9", spark_driver_bindAddress="127.0.0.1")
    context.master = "spark://somewhere"
    start_in_vain(cluster(context))
    assert told[0].conductor.host == "127.0.0.9"


def test_the_driver_and_the_slots_listen_on_the_ports_of_the_option(told: list[Membership]) -> None:
    start_in_vain(cluster(Context(), **{"firesteel.direct.ports": "20000-32000"}))
    assert told[0].ports == range(20000, 32001)
    assert told[0].conductor.port in told[0].ports


@pytest.mark.parametrize(
    ("settings", "encrypted"),
    [
        ({}, False),
        ({"spark_network_crypto_enabled": "true"}, True),
        ({"spark_network_crypto_enabled": "False"}, False),
        ({"spark_ssl_rpc_enabled": "TRUE"}, True),
        ({"spark_ssl_enabled": "true"}, False),
        ({"spark_authenticate_enableSaslEncryption": "true"}, True),
    ],
)
def test_lines_are_encrypted_where_those_of_spark_are(
    told: list[Membership], settings: dict[str, str], encrypted: bool
) -> None:
    start_in_vain(cluster(Context(**settings)))
    assert told[0].ticket.encrypted is encrypted


def test_every_run_has_a_secret_of_its_own(told: list[Membership]) -> None:
    direct = cluster(Context())
    start_in_vain(direct)
    start_in_vain(direct)
    assert told[0].ticket.secret != told[1].ticket.secret
    assert all(len(each.ticket.secret) == 32 for each in told)


LONG = 1_000_000.0
"""Seconds."""


def test_how_long_slots_take_to_start_is_not_the_job_s_time(told: list[Membership]) -> None:
    order = EpochOrder(EpochRequest(epoch=1, generation=0, now=5), {}, None, True, None, time.monotonic() - LONG)
    begun = cluster(Context())._begun_now(order)
    assert begun.request.now >= 5 + LONG * 1000
    assert begun.now_read_at is not None and order.now_read_at is not None
    assert begun.now_read_at - order.now_read_at >= LONG


def test_a_clock_that_a_test_moves_stands_while_slots_start(told: list[Membership]) -> None:
    order = EpochOrder(EpochRequest(epoch=1, generation=0, now=5), {}, None, True, None, time.monotonic() - LONG)
    with use_clock(lambda: 5):
        direct = cluster(Context())
    assert direct._begun_now(order) is order


@pytest.mark.parametrize("shared", [True, False])
def test_a_slot_on_the_driver_s_machine_knows_how_old_the_driver_s_time_is(shared: bool) -> None:
    membership = Membership(
        1, Address(), Pass(b"s" * 32), range(1), 1, driver_machine=machine() if shared else "elsewhere"
    )
    member = Member(membership, Place(0, "", "", None), SubtaskHost(), (1,))
    member._obey(("epoch", SlotOrder(1, 5, [], now_read_at=time.monotonic() - LONG)))
    assert (member._now() >= 5 + LONG * 1000) is shared
    member._selector.close()
