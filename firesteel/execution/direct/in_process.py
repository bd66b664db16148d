"""Direct exchange in one process: all slots in one thread, each in turn. What flows is what flows between processes."""

from __future__ import annotations

import time

from firesteel.common.options import DIRECT_WINDOW
from firesteel.execution.cluster import EpochOrder
from firesteel.execution.direct.orders import slot_orders
from firesteel.execution.direct.slot_flow import Message, SlotFlow
from firesteel.execution.host import SubtaskHost, WorkerPlan
from firesteel.execution.results import LevelResult
from firesteel.plan.job_plan import JobPlan


class InProcessExchange:
    """The slots of one job: one for each subtask of the widest level."""

    def __init__(self, plan: JobPlan, worker_plan: WorkerPlan, host: SubtaskHost) -> None:
        self._plan, self._host = worker_plan, host
        self._window: int = plan.configuration.get(DIRECT_WINDOW)
        self._flows = self._new_flows()

    def _new_flows(self) -> list[SlotFlow]:
        widths = self._plan.widths
        flows: list[SlotFlow] = []

        def sender(slot: int, other: int, message: Message) -> None:
            flows[other].receive(slot, message)

        for slot in range(max(widths)):

            def send(other: int, message: Message, slot: int = slot) -> None:
                sender(slot, other, message)

            flows.append(SlotFlow(slot, max(widths), widths, self._host, self._window, send))
        return flows

    def run_epoch(self, order: EpochOrder) -> list[LevelResult]:
        """Run an epoch: until nothing more comes, or its time is up. Processing time stands still within it."""
        now, flows = order.request.now, self._flows
        for flow, slot_order in zip(flows, slot_orders(order, self._plan.job_id, self._plan.widths, len(flows))):
            flow.begin(slot_order)
        deadline = time.monotonic() + order.request.time_budget_ms / 1000
        while not all(flow.done for flow in flows):
            worked = [flow.step(now) for flow in flows]  # all of them: each has its turn
            failures = [flow.failure for flow in flows if flow.failure is not None]
            if failures:
                self._flows = self._new_flows()
                return [failures[0]]
            if not any(worked) or time.monotonic() > deadline:
                for flow in flows:
                    flow.stop()
        return [result for flow in flows for result in flow.results]
