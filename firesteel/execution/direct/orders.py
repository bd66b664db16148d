"""An epoch of the driver as orders for slots."""

from __future__ import annotations

from firesteel.execution.cluster import EpochOrder
from firesteel.execution.direct.slot_flow import SlotOrder
from firesteel.execution.host import LevelTask


def slot_orders(order: EpochOrder, job_id: str, widths: tuple[int, ...], slots: int) -> list[SlotOrder]:
    """What each slot has to run: of every level the subtasks whose numbers leave its own as remainder."""
    request = order.request
    return [
        SlotOrder(
            epoch=request.epoch,
            now=request.now,
            now_read_at=order.now_read_at,
            only_one_pass=request.snapshot.takes_snapshot,
            tasks=[
                LevelTask(
                    job_id=job_id,
                    level=level,
                    index=index,
                    attempt=f"{request.epoch}",
                    request=request,
                    orders={index: order.orders.get(level, {}).get(index, {})},
                    restore=order.restore,
                    fresh=order.fresh,
                    store_directory=order.store_directory,
                )
                for level, width in enumerate(widths)
                for index in range(slot, width, slots)
            ],
        )
        for slot in range(slots)
    ]
