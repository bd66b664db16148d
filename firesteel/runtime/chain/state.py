"""A chain's state: taken at the end of an epoch, given back when a job goes on."""

from __future__ import annotations

from firesteel.common.time import MIN_WATERMARK
from firesteel.runtime.chain.building import ChainParts
from firesteel.runtime.input_gate import InputGate
from firesteel.runtime.layout import PlannedChain
from firesteel.runtime.operator import ChainLink, Operator
from firesteel.runtime.snapshot_order import SnapshotOrder
from firesteel.state.backend import KeyedStateBackend
from firesteel.state.key_groups import group_range
from firesteel.state.snapshots import KeyedContent, OperatorRestore, OperatorSnapshot

Restores = dict[str, OperatorRestore]


def restore_state(link: ChainLink, restore: OperatorRestore) -> None:
    """Give an operator what it had."""
    link.call(_restore, link.operator, restore)


def _restore(operator: Operator, restore: OperatorRestore) -> None:
    context = operator.context
    if context.keyed_state is not None:
        groups = group_range(context.subtask_index, context.parallelism, context.max_parallelism)
        context.keyed_state.types.update(restore.types)
        for change in restore.keyed:
            context.keyed_state.apply(change, groups if restore.rescaled else None)
    place = (context.subtask_index, context.parallelism) if restore.everyones else (0, 1)
    context.operator_state.restore(restore.operator_states, *place)
    operator.restore(restore.own)


def restore_event_time(layout: PlannedChain, parts: ChainParts, gate: InputGate, restores: Restores) -> None:
    """Let event time stand where it stood, along the chain as far as it is the same chain as before.

    Then tell all readers: those that were restored know already, others would wait for it.
    """
    feeders = {edge.target: edge.operator for edge in layout.chained_edges}
    same: set[int] = set()
    for planned in layout.operators:
        restore = restores.get(planned.info.uid)
        if restore is not None and (planned.id not in feeders or feeders[planned.id] in same):
            gates = [each["gate"] for each in restore.event_times if each["gate"] is not None]
            goes_on = planned.inputs == 0 or planned.id in feeders or gate.restore(gates, restore.rescaled)
            if goes_on and restore.event_times:
                same.add(planned.id)
                parts.links[planned.id].operator.resume_event_time(restore.event_times)
    for edge, emitter in zip(layout.outputs, parts.emitters):
        output = parts.links[edge.operator].operator.output
        if output.watermark != MIN_WATERMARK or output.idle:
            emitter.announce(output.watermark, output.idle)


def snapshot_of(link: ChainLink, order: SnapshotOrder, gate: InputGate | None) -> OperatorSnapshot:
    """What an operator keeps.

    :param gate: Of the first operator, if the chain has inputs.
    """
    operator, context = link.operator, link.operator.context
    return OperatorSnapshot(
        keyed=_keyed_snapshot(context.keyed_state, order),
        full=order.full,
        operator_state=context.operator_state.snapshot(),
        own=link.call(operator.snapshot),
        event_time={**operator.event_time_state(), "gate": None if gate is None else gate.snapshot()},
        types={} if context.keyed_state is None else dict(context.keyed_state.types),
    )


def _keyed_snapshot(backend: KeyedStateBackend | None, order: SnapshotOrder) -> KeyedContent | None:
    if backend is None or not backend.used:
        return None
    if order.beside:
        return backend.full_parts
    if order.full:
        backend.forget_deltas()
        return backend.full_parts
    return backend.take_deltas()
