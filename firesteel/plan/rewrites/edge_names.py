"""What each edge is called: by uids, not by numbers, so that what is stored of it survives edits of the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from firesteel.plan.rewrites.edges import ResolvedEdge
from firesteel.runtime.layout import EdgeName


def name_edges(shuffled: Sequence[ResolvedEdge], uids: Mapping[int, str]) -> list[EdgeName]:
    """What each edge is called at its consumer. Edges that are alike (a stream united with itself) are counted."""
    seen: Counter[tuple[int, int, str, str]] = Counter()
    names = []
    for edge in shuffled:
        tag = "" if edge.tag is None else edge.tag.name
        alike = edge.consumer.id, edge.input_index, uids[edge.producer.id], tag
        names.append((*alike[1:], seen[alike]))
        seen[alike] += 1
    return names
