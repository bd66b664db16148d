"""A job's subtasks on Spark with direct exchange: one long-running Spark job holds the slots, which run its epochs.

The Spark job is a barrier stage with one task on each executor: all of them run, or none. A task starts its slots and
waits for them. If one dies, the task fails, with it the stage, and the job goes back to its last checkpoint. So Spark
places, starts, supervises and fences; chunks and orders do not pass through it.
"""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import replace
from typing import Any

from firesteel.common.options import DIRECT_PORTS, DIRECT_START_TIMEOUT, DIRECT_WINDOW
from firesteel.errors import JobFailedError
from firesteel.execution.clock import SteadyClock, processing_clock
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.direct.conductor import Conductor, MemberLostError
from firesteel.execution.direct.door import Pass, parse_ports
from firesteel.execution.direct.member import Membership, machine
from firesteel.execution.direct.orders import slot_orders
from firesteel.execution.results import LevelResult, SubtaskDone
from firesteel.execution.spark.cluster import SparkCluster
from firesteel.execution.spark.dependencies import Dependencies
from firesteel.execution.spark.failures import epoch_failure
from firesteel.execution.spark.relay import host_slots
from firesteel.execution.spark.resources import default_parallelism, executor_count, free_cores
from firesteel.plan.job_plan import JobPlan
from firesteel.state import codec

_SECRET_BYTES = 32
_SECONDS_TO_LEAVE = 5.0
"""How long slots have to leave by themselves, before Spark is told to end their tasks."""
_SECONDS_TO_KILL = 20.0
_SECONDS_FOR_EXECUTORS = 15.0
"""How long a lost executor may take to be replaced, before the job goes on with those that are left."""
_POLL_SECONDS = 0.1
_LOOPBACK = "127.0.0.1"


class _Session:
    """The slots of one run of a job: from their start to a failure, or to the end of the job."""

    def __init__(self, conductor: Conductor, spark: Future[None]) -> None:
        self.conductor = conductor
        self.spark = spark
        """Done when Spark's job has ended, with its error if it has one."""


class DirectCluster(SparkCluster):
    """Runs the epochs of one job in slots that exchange directly."""

    def __init__(self, plan: JobPlan, job_id: str, context: Any, dependencies: Dependencies) -> None:
        super().__init__(plan, job_id, context, dependencies)
        configuration = plan.configuration
        self._ports = parse_ports(configuration.get(DIRECT_PORTS))
        self._window: int = configuration.get(DIRECT_WINDOW)
        self._start_seconds: float = configuration.get(DIRECT_START_TIMEOUT) / 1000
        self._clock_stands = not isinstance(processing_clock(), SteadyClock)
        self._slots = self._tasks = 0
        self._placed = False
        """Whether slots of this job may be somewhere."""
        self._session: _Session | None = None
        self._lock = threading.Lock()

    flows = True

    @property
    def pinned(self) -> bool:
        """A subtask stays where it is for the whole run."""
        return True

    def wake(self) -> None:
        """Have the running epoch end soon. From any thread."""
        with self._lock:
            if self._session is not None:
                self._session.conductor.wake()

    # ---- epochs ------------------------------------------------------------------------------------------------

    def _run(self, order: EpochOrder) -> list[LevelResult]:
        try:
            session = self._session
            if session is None:
                session = self._start()
                order = self._begun_now(order)
            orders = slot_orders(order, self._job_id, tuple(self._widths), self._slots)
            results = session.conductor.run(orders, order.request.time_budget_ms / 1000)
        except BaseException:
            self._end_session()
            raise
        if not all(isinstance(result, SubtaskDone) for result in results):
            self._end_session()  # what others have sent in the meantime goes with it
        return results

    def _start(self) -> _Session:
        """Have Spark place the slots, and wait until all of them are there."""
        self._count_slots()
        spark: Future[None] = Future()
        ticket = Pass(secrets.token_bytes(_SECRET_BYTES), _is_encrypted(self._context))
        conductor = Conductor(self._slots, ticket, self._host(), self._ports, lambda: _raise_failure(spark))
        spark.add_done_callback(lambda _: conductor.wake())
        membership = Membership(
            slots=self._slots,
            conductor=self._reachable(conductor),
            ticket=ticket,
            ports=self._ports,
            window=self._window,
            clock_stands=self._clock_stands,
            driver_machine=machine(),
        )
        packed = codec.dumps((self._job_id, membership))
        session = _Session(conductor, spark)
        with self._lock:
            self._session = session
        threading.Thread(target=self._hold, args=(packed, spark), name="firesteel-direct", daemon=True).start()
        before, self._placed = self._placed, True
        if not conductor.gather(self._start_seconds):
            running = self._tasks_run()
            self._placed = before or running
            problem = self._unreachable() if running else self._missing()
            self._context.cancelJobGroup(self._job_id)
            raise JobFailedError(problem)
        return session

    def _begun_now(self, order: EpochOrder) -> EpochOrder:
        """The order with the time at which slots are there: how long they took to start is not the job's time."""
        if self._clock_stands or order.now_read_at is None:
            return order
        read_at = time.monotonic()
        now = order.request.now + int((read_at - order.now_read_at) * 1000)
        return replace(order, request=replace(order.request, now=now), now_read_at=read_at)

    def _count_slots(self) -> None:
        """How many slots the job gets, in how many tasks: as many as there is room for now.

        After a failure an executor may be gone, for a moment or for good.
        """
        context, lost = self._context, time.monotonic() + _SECONDS_FOR_EXECUTORS
        while executor_count(context) < self._tasks and time.monotonic() < lost:
            time.sleep(_POLL_SECONDS)
        self._slots = max(1, min(max(self._widths), default_parallelism(context)))
        self._tasks = 1 if self._local else min(executor_count(context), self._slots)

    def _hold(self, membership: bytes, spark: Future[None]) -> None:
        """Run Spark's job, in a thread of its own, from the start of the slots to their end."""
        try:
            self._context.setJobGroup(self._job_id, f"{self._name}, direct exchange")
            function = host_slots(membership, self._plan, self._settings, self._slots, self._tasks, self._local)
            everywhere = self._context.parallelize(range(self._tasks), self._tasks)
            everywhere.barrier().mapPartitionsWithIndex(function).collect()
        except BaseException as error:
            spark.set_exception(error)
        else:
            spark.set_result(None)

    def _host(self) -> str:
        """Where to listen: nobody else than this host has to get here in local mode."""
        if self._local:
            return _LOOPBACK
        conf = self._context.getConf()
        address: str = conf.get("spark.driver.bindAddress", None) or conf.get("spark.driver.host")
        return address

    def _reachable(self, conductor: Conductor) -> Any:
        """The conductor's address as slots on other hosts know it."""
        address = conductor.address
        return address if self._local else replace(address, host=self._context.getConf().get("spark.driver.host"))

    def _tasks_run(self) -> bool:
        """Whether Spark has started the tasks: all of them, or none."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(self._job_id)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return any(stage is not None and stage.numActiveTasks for stage in stages)

    def _missing(self) -> str:
        free = free_cores(self._context)
        return (
            f"direct exchange needs {self._tasks} free core(s), one on each executor, for as long as the job runs; "
            f"{free} are free, so {max(1, self._tasks - free)} are missing: other jobs of this Spark application hold "
            "them. Wait for their end, give the application more cores, or set firesteel.exchange: shuffle"
        )

    def _unreachable(self) -> str:
        return (
            f"not all of the {self._slots} slot processes have come within {self._start_seconds:g} s "
            "(firesteel.direct.start-timeout). Can executors reach the driver at spark.driver.host, on the ports of "
            "firesteel.direct.ports?"
        )

    # ---- the end -----------------------------------------------------------------------------------------------

    def _end_session(self) -> None:
        """Let the slots go, and wait until Spark's job has ended."""
        with self._lock:
            session, self._session = self._session, None
        if session is None:
            return
        session.conductor.dismiss()
        if not wait_for([session.spark], _SECONDS_TO_LEAVE).done:
            self._context.cancelJobGroup(self._job_id)
            wait_for([session.spark], _SECONDS_TO_KILL)

    def _close(self) -> list[str]:
        self._end_session()
        if not self._placed:  # nothing to close; and there may be no core for the task that would do it
            self._plan.destroy()
            return []
        return super()._close()


def _raise_failure(spark: Future[None]) -> None:
    """Raise what has ended Spark's job."""
    if not spark.done():
        return
    error = spark.exception()
    if isinstance(error, Exception):
        raise epoch_failure(error) from None
    raise MemberLostError("the slot processes have ended before their job has")


def _is_encrypted(context: Any) -> bool:
    """Whether Spark's own connections are encrypted."""
    conf = context.getConf()
    keys = ("spark.network.crypto.enabled", "spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption")
    return any(conf.get(key, "false").strip().lower() == "true" for key in keys)
