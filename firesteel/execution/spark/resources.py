"""What a cluster has: executors, and how many tasks each of them runs at a time."""

from __future__ import annotations

import logging
import re
import time
from typing import Any

log = logging.getLogger("firesteel.cluster")

_LOCAL = re.compile(r"local(?:\[(\*|\d+)(?:\s*,\s*\d+)?\])?")
_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")

_SETTLED_SECONDS = 1.0
"""Where nobody says how many executors there will be: no further one for so long, or for half the time that they took
to come, means that these are all."""

_POLL_SECONDS = 0.05


def is_local_master(master: str) -> bool:
    """Whether this master means one executor in the driver's own JVM."""
    return _LOCAL.fullmatch(master) is not None


def is_local(context: Any) -> bool:
    """Whether the one executor is in the driver's own JVM."""
    return is_local_master(context.master)


def local_cores(master: str) -> int | None:
    """The cores that a local master names: None where it means all that the machine has."""
    found = _LOCAL.fullmatch(master)
    if found is None or found.group(1) == "*":
        return None
    return int(found.group(1) or 1)


def default_parallelism(context: Any) -> int:
    """How many tasks the cluster runs at a time, unless ``spark.default.parallelism`` says otherwise.

    Executors come one by one after a start: this waits for those that were asked for, as long as Spark itself would.
    """
    if is_local(context) or context.getConf().contains("spark.default.parallelism"):
        return max(1, int(context.defaultParallelism))
    return max(1, sum(_wait_for_executors(context, _expected_tasks(context))))


def executor_slots(context: Any) -> int:
    """How many tasks one executor runs at a time: so many slot processes it gets."""
    if is_local(context):
        return max(1, *_tasks_of_executors(context))
    configured = context.getConf().get("spark.executor.cores", None)
    if configured is not None:
        return max(1, int(configured) // _cores_per_task(context))
    return max(_wait_for_executors(context, 1), default=1)


def executor_count(context: Any) -> int:
    """How many executors there are now."""
    return max(1, len(_tasks_of_executors(context)))


def free_cores(context: Any) -> int:
    """How many tasks could start now."""
    local = is_local(context)
    executors = context._jsc.sc().statusStore().executorList(True)
    found = (executors.apply(index) for index in range(executors.size()))
    return sum(
        max(0, int(each.maxTasks()) - int(each.activeTasks())) for each in found if local or each.id() != "driver"
    )


def _cores_per_task(context: Any) -> int:
    return int(context.getConf().get("spark.task.cpus", "1"))


def _tasks_of_executors(context: Any) -> list[int]:
    """For each executor that has registered, how many tasks it runs at a time. In local mode the driver is one."""
    local = is_local(context)
    executors = context._jsc.sc().statusStore().executorList(True)
    found = (executors.apply(index) for index in range(executors.size()))
    return [int(each.maxTasks()) for each in found if local or each.id() != "driver"]


def _expected_tasks(context: Any) -> int | None:
    """How many tasks all executors that were asked for will run at a time; None: that depends on the cluster."""
    conf, master = context.getConf(), context.master
    per_task = _cores_per_task(context)
    local_cluster = _LOCAL_CLUSTER.fullmatch(master)
    if local_cluster is not None:
        return int(local_cluster.group(1)) * (int(local_cluster.group(2)) // per_task)
    if master.startswith("spark://"):
        most = conf.get("spark.cores.max", None)
        return None if most is None else int(most) // per_task
    if not master.startswith(("yarn", "k8s://")):
        return None
    if conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        names = ("initialExecutors", "minExecutors")
        executors = max(int(conf.get(f"spark.dynamicAllocation.{name}", "0")) for name in names)
        executors = max(1, executors, int(conf.get("spark.executor.instances", "0")))
    else:
        executors = int(conf.get("spark.executor.instances", "2"))
    return executors * (int(conf.get("spark.executor.cores", "1")) // per_task)


def _wait_for_executors(context: Any, expected: int | None) -> list[int]:
    """The tasks of each executor, once there are as many as expected, or as many as there will be."""
    limit = _seconds(context, "spark.scheduler.maxRegisteredResourcesWaitingTime", "30s")
    tasks: list[int] = []
    begun = changed = time.monotonic()
    end = begun + limit
    while True:
        now, before, tasks = time.monotonic(), tasks, _tasks_of_executors(context)
        changed = now if tasks != before else changed
        settled = expected is None and tasks and now - changed >= max(_SETTLED_SECONDS, (changed - begun) / 2)
        if settled or (expected is not None and sum(tasks) >= expected):
            return tasks
        if now >= end:
            break
        time.sleep(_POLL_SECONDS)
    if not tasks:
        log.warning(
            "No executor of %s has come within %.0f s, and jobs wait until one does. Are there enough free cores and "
            "memory (spark.executor.cores, spark.executor.memory), and can executors reach this driver "
            "(spark.driver.host)?",
            context.master,
            limit,
        )
    return tasks


def _seconds(context: Any, key: str, default: str) -> float:
    text = context.getConf().get(key, default)
    return float(context._jvm.org.apache.spark.network.util.JavaUtils.timeStringAsSec(text))
