"""Why event time stands where it stands: which subtask of which source holds it back, and since when."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.dashboard.graph import is_source
from firesteel.dashboard.text import event_time, lasting
from firesteel.events import EpochEnded, JobView, VertexDescription

__all__ = ["HeldBack", "explain", "held_back"]


@dataclass(frozen=True)
class HeldBack:
    """Event time at the input of a vertex, and who holds it back.

    :param culprit: The subtask furthest up whose watermark is the least; None for a source.
    :param leading: The greatest watermark among the subtasks beside the culprit.
    :param since: Since when the watermark has not moved, as far as is remembered; None if it has just moved.
    """

    vertex: VertexDescription
    watermark: int
    culprit: tuple[VertexDescription, int] | None = None
    leading: int = MIN_WATERMARK
    since: int | None = None


def _outputs(view: JobView, vertex: VertexDescription) -> list[tuple[int, int]]:
    """The watermarks that subtasks send on, with the subtasks; the least first."""
    found = [(view.numbers(vertex, index).operators[-1:], index) for index in range(vertex.parallelism)]
    return sorted((each.output_watermark, index) for last, index in found for each in last)


def _culprit(view: JobView, vertex: VertexDescription) -> tuple[VertexDescription, int] | None:
    """Follow the least watermark upwards, as far as it goes."""
    found: tuple[VertexDescription, int] | None = None
    seen = {vertex.id}
    while True:
        producers = [each for source in vertex.inputs if (each := view.vertex(source.id)) is not None]
        marks = [(mark, each, index) for each in producers for mark, index in _outputs(view, each)[:1]]
        if not marks:
            return found
        _, vertex, index = min(marks, key=lambda each: (each[0], each[1].level, each[2]))
        if vertex.id in seen:  # a loop
            return found
        seen.add(vertex.id)
        found = (vertex, index)


def _input_watermark(epoch: EpochEnded, vertex: VertexDescription) -> int | None:
    """Where event time stands at the input of a vertex; of a source, at its output."""
    chains = [each.operators for each in epoch.subtasks if each.vertex == vertex.id and each.operators]
    marks = [each[-1].output_watermark if is_source(vertex) else each[0].input_watermark for each in chains]
    return min(marks, default=None)


def _since(view: JobView, vertex: VertexDescription, watermark: int) -> int | None:
    since = None
    for epoch in reversed(view.history.sampled_epochs):
        if _input_watermark(epoch, vertex) != watermark:
            break
        since = epoch.time
    return since


def held_back(view: JobView) -> list[HeldBack]:
    """All vertices, in the order of the job."""
    found = []
    for vertex in view.job.vertices:
        watermark = None if view.latest is None else _input_watermark(view.latest, vertex)
        if watermark is None:
            continue
        culprit = _culprit(view, vertex)
        beside = [] if culprit is None else [mark for mark, index in _outputs(view, culprit[0]) if index != culprit[1]]
        since = _since(view, vertex, watermark)
        found.append(HeldBack(vertex, watermark, culprit, max(beside, default=MIN_WATERMARK), since))
    return found


def explain(held: HeldBack, now: int) -> str:
    """The same in a sentence or two."""
    if held.watermark >= MAX_WATERMARK:
        return "All input has ended: every window has fired."
    stands = (
        "" if held.since is None else f" It has not moved for {lasting(max(now - held.since, 0))}, as far as is known."
    )
    if held.watermark <= MIN_WATERMARK:
        begun = "No watermark has come: no window of event time can fire, and no event-time timer."
    else:
        begun = f"Event time stands at {event_time(held.watermark)}: windows that end later have not fired."
    if held.culprit is None:
        return begun + stands + (_ADVICE if is_source(held.vertex) and held.watermark <= MIN_WATERMARK else "")
    vertex, index = held.culprit
    holder = f" Subtask {index} of {vertex.name!r} holds it back"
    if held.leading > held.watermark:
        holder += (
            f"; the furthest beside it is at {event_time(held.leading)}. If it has no records, with_idleness() of its"
        )
        holder += " watermark strategy lets the others go on"
    return begun + holder + "." + stands


_ADVICE = " Does the source have a watermark strategy, and have records come?"
