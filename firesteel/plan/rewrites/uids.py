"""Under which name the state of each operator is stored."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.errors import ProgramError
from firesteel.plan.graph import PhysicalTransformation


def assign_uids(nodes: Sequence[PhysicalTransformation]) -> dict[int, str]:
    """The uid of each operator: the user's, or one made of its name and place that is the same on every run."""
    uids: dict[int, str] = {}
    owner: dict[str, PhysicalTransformation] = {}
    for place, node in enumerate(nodes, 1):
        uid = node.uid or f"{place}-{node.name}"
        if uid in owner:
            raise ProgramError(
                f"two operators have the uid {uid!r}: {owner[uid].name!r} (made at {owner[uid].call_site}) and "
                f"{node.name!r} (made at {node.call_site}). State is stored under the uid; give each its own"
            )
        owner[uid] = node
        uids[node.id] = uid
    return uids
