"""What the driver does per epoch and per checkpoint, with many subtasks: ``python -m bench.scale --page``.

Nothing runs: plans, orders, reports and manifests are the engine's own, made for as many subtasks as one likes, and
packed, unpacked, checked and put together as in a job. Reports of a keyed exchange name every channel that carried
something, so they are made for the worst case: every subtask has sent to every other. Where all of them would not fit
into memory, some are measured and multiplied; the page says so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bench.page import ROOT, replace_section, table
from firesteel.common import Configuration, JobClient
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.execution.checkpoints import build_manifest
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.coordinators import Coordinators, JobServices
from firesteel.execution.direct.orders import slot_orders
from firesteel.execution.fencing import fencing_violation
from firesteel.execution.results import Place, SubtaskDone
from firesteel.model.coordinator import EpochPlan
from firesteel.plan.executor import DriverSink, Executor, substitute_executor
from firesteel.plan.job_plan import JobPlan
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.state import codec
from firesteel.state.store import Manifest, OperatorFiles

PAGE = ROOT / "docs" / "scale.md"
SUBTASKS = (10, 100, 500, 1000, 2000, 5000)
MOST_WHOLE = 500
"""Up to so many subtasks all reports of an epoch are made; beyond, some of each level."""
SAMPLE = 20
FILES = 32
"""Changes that follow a full snapshot at the most: files of one subtask in a manifest."""
TRIES = 3
JOB = "0123456789abcdef0123456789abcdef"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Cost:
    """What one number of subtasks per level costs the driver."""

    subtasks: int
    orders_ms: float
    order_bytes: int
    reports_ms: float
    report_bytes: int
    check_ms: float
    manifest_ms: float
    manifest_bytes: int
    restore_bytes: int
    whole: bool


class _Taken(Exception):
    """The plan has been taken; nothing is run."""


class _PlanTaker(Executor):
    def __init__(self) -> None:
        self.plans: list[JobPlan] = []

    def submit(self, plan: JobPlan, driver_sinks: Mapping[str, DriverSink], detached: bool) -> JobClient:
        self.plans.append(plan)
        raise _Taken


def plan_for(subtasks: int) -> JobPlan:
    """A source, a keyed running sum, a sink: two levels of so many subtasks."""
    options = {"pipeline.max-parallelism": str(max(128, subtasks))}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    pairs = env.set_parallelism(subtasks).from_sequence(1, 10**9).map(lambda number: (number % 10_000, number))
    pairs.key_by(lambda pair: pair[0]).reduce(lambda left, right: (left[0], left[1] + right[1])).print()
    taker = _PlanTaker()
    with substitute_executor(taker), contextlib.suppress(_Taken):
        env.execute("scale")
    return taker.plans[0]


def report_of(plan: JobPlan, level: int, index: int, subtasks: int) -> SubtaskDone:
    """What a subtask reports that has exchanged something with every subtask of the other level."""
    (edge,) = [edge.id for edge in plan.edges]
    report = SubtaskReport(level, index)
    if level == 0:
        report.sent = {(edge, target): 3 for target in range(subtasks)}
    else:
        report.received = {(edge, sender): ("7", 3) for sender in range(subtasks)}
    uids = [operator.info.uid for chain in plan.chains if chain.level == level for operator in chain.operators]
    numbers = dict.fromkeys(("numRecordsIn", "numRecordsOut", "currentInputWatermark", "currentOutputWatermark"), 10**6)
    report.metrics = {uid: dict(numbers) for uid in uids}
    done = SubtaskDone(level, index, "7", report, Place("host-0123", 4567, 1234))
    done.state_file = f"1234-{level}-{index}-0-7-{JOB}.state"
    done.snapshot_uids = done.stateful_uids = uids
    return done


def timed(function: Callable[[], _T]) -> tuple[float, _T]:
    """Milliseconds of processor time, the least of some tries, and the result."""
    tries = []
    for _ in range(TRIES):
        began = time.process_time()
        result = function()
        tries.append((time.process_time() - began) * 1000)
    return min(tries), result


def manifest_for(plan: JobPlan, subtasks: int) -> Manifest:
    """The manifest of a checkpoint on which as many changes follow as may."""
    results = [report_of(plan, level, index, 1) for level in range(plan.level_count) for index in range(subtasks)]
    before: dict[str, OperatorFiles] = {}
    for _ in range(FILES):
        manifest = build_manifest(plan, "checkpoint", 1234, 0, results, before, {})
        before = manifest.operators
    return manifest


def measure(subtasks: int) -> Cost:
    """What the driver does for one epoch, one checkpoint and one restart."""
    plan = plan_for(subtasks)
    widths = tuple(plan.width(level) for level in range(plan.level_count))
    coordinators = Coordinators(plan, JobServices({}, lambda: None, lambda: None, False))
    coordinators.restore(None)

    def order(restore: Manifest | None = None) -> list[bytes]:
        orders = coordinators.orders(EpochPlan(0, 1, 100_000, drain=False))
        epoch = EpochOrder(EpochRequest(epoch=1, generation=0, now=0), orders, restore, False, "/checkpoints")
        return [codec.dumps(each) for each in slot_orders(epoch, JOB, widths, subtasks)]

    orders_ms, packed_orders = timed(order)
    whole = subtasks <= MOST_WHOLE
    made = subtasks if whole else SAMPLE
    indices, factor = range(made), subtasks // made
    packed = [codec.dumps(report_of(plan, level, index, subtasks)) for level in (0, 1) for index in indices]
    reports_ms, results = timed(lambda: [codec.loads(each) for each in packed])
    check_ms = timed(lambda: fencing_violation(plan, results))[0] if whole else float("nan")
    manifest = manifest_for(plan, subtasks)
    manifest_ms, written = timed(manifest.to_bytes)
    coordinators.close()
    return Cost(
        subtasks,
        orders_ms,
        sum(map(len, packed_orders)),
        reports_ms * factor,
        sum(map(len, packed)) * factor,
        check_ms,
        manifest_ms,
        len(written),
        len(codec.dumps(manifest)) * subtasks,
        whole,
    )


def size(count: float) -> str:
    """Bytes for people."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if count >= 10 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def describe(costs: list[Cost]) -> str:
    """The section of the page."""
    rows = []
    for each in costs:
        about = "" if each.whole else "about "
        check = f"{each.check_ms:,.0f} ms" if each.whole else "-"
        rows.append(
            (
                f"{each.subtasks:,}",
                f"{each.orders_ms:,.0f} ms, {size(each.order_bytes)}",
                f"{about}{each.reports_ms:,.0f} ms, {size(each.report_bytes)}",
                check,
                f"{each.manifest_ms:,.0f} ms, {size(each.manifest_bytes)}",
                size(each.restore_bytes),
            )
        )
    head = ["subtasks per level", "orders of an epoch", "its reports", "their check", "manifest", "sent at a restart"]
    note = (
        f"Processor time of the driver, on one of {os.cpu_count()} cores; two levels, a keyed exchange in which every "
        f"subtask sends to every other, a full snapshot and {FILES - 1} changes in the manifest. Beyond {MOST_WHOLE} "
        "subtasks, some reports of each level were measured and multiplied, and the check left out."
    )
    return f"{note}\n\n{table(head, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the section of docs/scale.md")
    parser.add_argument("--subtasks", type=int, nargs="*", default=SUBTASKS)
    options = parser.parse_args()
    text = describe([measure(subtasks) for subtasks in options.subtasks])
    print(text)
    if options.page:
        replace_section(PAGE, "scale", text)


if __name__ == "__main__":
    main()
