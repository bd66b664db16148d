"""One subtask of one level: the operators of all chains of that level, alive from the first epoch to the last.

``run_epoch`` is the whole data plane: chunk rows in, chunk rows and a report out. No Spark, no clock, no files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.errors import ProgramError
from firesteel.metrics import MetricGroup
from firesteel.runtime.batch import END, IDLE, Format, RowBatch
from firesteel.runtime.declared_rows import NamingOutput
from firesteel.runtime.emitters import ChunkRow, Emitter, unpicklable
from firesteel.runtime.input_gate import Channel, InputGate
from firesteel.runtime.layout import PlannedChain, PlannedEdge, PlannedOperator
from firesteel.runtime.operator import ChainLink, Clock, Guard, Operator, OperatorContext, Output, Receiver, never
from firesteel.runtime.partitioners import BROADCAST, FORWARD
from firesteel.runtime.receiving import receiver
from firesteel.runtime.remarks import Remarks
from firesteel.runtime.routing import make_emitter
from firesteel.runtime.snapshot_order import SnapshotOrder
from firesteel.runtime.sorted_input import SortedInput
from firesteel.runtime.worker_settings import WorkerSettings
from firesteel.state import codec
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.key_groups import group_range
from firesteel.state.one_key import OneKeyBackend
from firesteel.state.operator_state import OperatorStateBackend
from firesteel.state.schema import Schema
from firesteel.state.snapshots import KeyedContent, OperatorRestore, OperatorSnapshot
from firesteel.state.sorting import KeySorter

BackendFactory = Callable[[int], KeyedStateBackend]


@dataclass
class EpochRequest:
    """What the driver tells every subtask about an epoch."""

    epoch: int
    generation: int
    """How often the job has been restarted."""
    now: int
    previous_end: int | None = None
    """When the epoch before this one ended."""
    checkpoint_id: int = 0
    """The number of the checkpoint that this epoch belongs to."""
    snapshot: SnapshotOrder = SnapshotOrder.KEEP
    """What to do about state at the end of this epoch."""
    completed_checkpoint: int | None = None
    """A checkpoint that has been completed since the last epoch."""
    time_budget_ms: int = 1000
    """How long sources may read."""


@dataclass
class SubtaskReport:
    """What a subtask tells the driver at the end of an epoch."""

    level: int
    subtask: int
    messages: dict[str, bytes] = field(default_factory=dict)
    """Operator uid -> what it reports to its coordinator, packed."""
    snapshots: dict[str, OperatorSnapshot] = field(default_factory=dict)
    next_timer: int | None = None
    ended_chains: list[int] = field(default_factory=list)
    sent: dict[tuple[int, int], int] = field(default_factory=dict)
    """(edge, target) -> chunks sent."""
    received: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    """(edge, from_subtask) -> the producer's attempt and the chunks received."""
    metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Operator uid -> its numbers."""
    union_state: list[str] = field(default_factory=list)
    """The uids of operators with union list state."""
    remarks: Remarks = field(default_factory=Remarks)


class ChainInstance:
    """One chain in one subtask: operators linked by plain calls, a gate before them, emitters behind them."""

    def __init__(self, layout: PlannedChain, subtask: int, settings: SubtaskSettings) -> None:
        self.layout = layout
        self._subtask = subtask
        self._settings = settings
        self.links: dict[int, ChainLink] = {}
        self.emitters: list[Emitter] = []
        self._emitters_of: list[tuple[Output, Emitter]] = []
        self._groups: dict[int, MetricGroup] = {}
        self._key_types: dict[str, Schema] = {each.info.uid: each.key_type for each in layout.operators}
        self.ended = False
        self._build()
        self.head = self.links[layout.operators[0].id]
        self._input_of_edge = {edge.id: edge.input_index for edge in layout.inputs}
        self._receivers = {edge.id: self._receiver(edge) for edge in layout.inputs}
        self._entry_bytes = 0
        """About how many bytes a batch of the chunk in work has."""
        self.gate = InputGate(self._channels(), {edge.id: edge.name for edge in layout.inputs})
        self._ended_inputs: set[int] = set()
        self._sorted = self._sort_input()

    def _sort_input(self) -> SortedInput | None:
        """In BATCH mode: the sorter before a keyed operator. Records without keys (broadcast ones) do not go in."""
        planned = self.layout.operators[0]
        if not self._is_sorted_for(planned, self.head.operator):
            return None
        inputs = {edge.input_index for edge in self.layout.inputs if edge.kind != BROADCAST}
        return SortedInput(self.head, self._settings.sorter_factory(planned.inputs), inputs)

    def _channels(self) -> list[list[Channel]]:
        """The channels of each input."""
        channels: list[list[Channel]] = [[] for _ in range(self.layout.operators[0].inputs)]
        for edge in self.layout.inputs:
            senders: Iterable[int] = (self._subtask,) if edge.kind == FORWARD else range(edge.producers)
            channels[edge.input_index].extend((edge.id, sender) for sender in senders)
        return channels

    def _build(self) -> None:
        takes = {planned.id: planned.takes for planned in self.layout.operators}
        for planned in self.layout.operators:
            operator = Guard(planned.info, None).call(self._make_operator, planned)
            self.links[planned.id] = ChainLink(operator)
        for call in self.layout.chained_edges:
            target = self.links[call.target]
            output = self.links[call.operator].operator.output
            receive = receiver(target, target.receive, call.format, takes[call.target], call.row_type)
            output.connect(receive, target.advance_watermark, target.advance_status, call.tag)
        for edge in self.layout.outputs:
            self._connect_emitter(edge)

    def _make_operator(self, planned: PlannedOperator) -> Operator:
        operator: Operator = codec.loads(planned.factory)()
        _refuse_other_formats(planned, operator)
        operator.setup(self._operator_context(planned, self._is_sorted_for(planned, operator)))
        return operator

    def _is_sorted_for(self, planned: PlannedOperator, operator: Operator) -> bool:
        return self._settings.worker.batch_mode and planned.keyed and operator.takes_sorted_input

    def _operator_context(self, planned: PlannedOperator, one_key: bool) -> OperatorContext:
        settings, worker = self._settings, self._settings.worker
        restore = settings.restores.get(planned.info.uid)
        group = self._groups[planned.id] = MetricGroup()
        return OperatorContext(
            info=planned.info,
            subtask_index=self._subtask,
            parallelism=self.layout.parallelism,
            max_parallelism=self.layout.max_parallelism,
            attempt=settings.generation,
            clock=settings.clock,
            output=self._make_output(planned.row_names if planned.gives is Format.ROWS else None),
            metrics=group,
            operator_state=OperatorStateBackend(),
            keyed_state=self._make_backend(one_key) if planned.keyed else None,
            batch_mode=worker.batch_mode,
            object_reuse=worker.object_reuse,
            job_parameters=worker.job_parameters,
            cached_files=settings.cached_files,
            restored_checkpoint=None if restore is None else restore.checkpoint_id,
            rescaled=restore is not None and restore.rescaled,
            batch_records=worker.chunk_records,
            auto_watermark_interval=worker.auto_watermark_interval,
            key_fields=planned.key_fields,
        )

    def _make_output(self, row_names: tuple[str, ...] | None) -> Output:
        reuse = self._settings.worker.object_reuse
        return Output(reuse) if row_names is None else NamingOutput(row_names, reuse)

    def _make_backend(self, one_key: bool) -> KeyedStateBackend:
        factory = OneKeyBackend if one_key else self._settings.backend_factory
        backend = factory(self.layout.max_parallelism)
        backend.clock = self._settings.clock
        return backend

    def _connect_emitter(self, edge: PlannedEdge) -> None:
        emitter = make_emitter(
            codec.loads(edge.partitioning),
            edge=edge.id,
            level=edge.level,
            subtask=self._subtask,
            producers=edge.producers,
            targets=edge.targets,
            max_parallelism=edge.max_parallelism,
            chunk_records=self._settings.worker.chunk_records,
            producer=self.links[edge.operator].operator.context.info,
            format=edge.format,
        )
        guard = Guard(edge.info, emitter)
        gives = next(planned.gives for planned in self.layout.operators if planned.id == edge.operator)
        emit = receiver(self.links[edge.operator], lambda batch: guard.run(emitter.emit, batch), gives, edge.format)
        self.emitters.append(emitter)
        self._emitters_of.append((self.links[edge.operator].operator.output, emitter))
        self.links[edge.operator].operator.output.connect(
            emit,
            emitter.advance_watermark,
            emitter.advance_status,
            edge.tag,
            reads_only=True,
        )

    def open(self) -> None:
        """Restore and open all operators, the last one first: each can emit as soon as it is open."""
        self._restore_event_time()
        for link in reversed(list(self.links.values())):
            restore = self._settings.restores.get(link.operator.context.info.uid)
            if restore is not None:
                link.call(self._restore, link.operator, restore)
            backend = link.operator.context.keyed_state
            if backend is not None:
                link.call(backend.declare_key_type, self._key_types[link.operator.context.info.uid])
            link.call(link.operator.open)

    def _restore(self, operator: Operator, restore: OperatorRestore) -> None:
        context = operator.context
        if context.keyed_state is not None:
            groups = group_range(self._subtask, context.parallelism, context.max_parallelism)
            context.keyed_state.types.update(restore.types)
            for change in restore.keyed:
                context.keyed_state.apply(change, groups if restore.rescaled else None)
        place = (self._subtask, context.parallelism) if restore.everyones else (0, 1)
        context.operator_state.restore(restore.operator_states, *place)
        operator.restore(restore.own)

    def _restore_event_time(self) -> None:
        """Let event time stand where it stood, along the chain as far as it is the same chain as before.

        Then tell all readers: those that were restored know already, others would wait for it.
        """
        feeders = {edge.target: edge.operator for edge in self.layout.chained_edges}
        same: set[int] = set()
        for planned in self.layout.operators:
            restore = self._settings.restores.get(planned.info.uid)
            if restore is not None and (planned.id not in feeders or feeders[planned.id] in same):
                gates = [each["gate"] for each in restore.event_times if each["gate"] is not None]
                goes_on = planned.inputs == 0 or planned.id in feeders or self.gate.restore(gates, restore.rescaled)
                if goes_on and restore.event_times:
                    same.add(planned.id)
                    self.links[planned.id].operator.resume_event_time(restore.event_times)
        for output, emitter in self._emitters_of:
            if output.watermark != MIN_WATERMARK or output.idle:
                emitter.announce(output.watermark, output.idle)

    def advance_processing_time(self, now: int) -> None:
        """Fire what is due, in order of the chain."""
        for link in self.links.values():
            if self._sorted is None or link is not self.head:  # sorted input: at the end of each key
                link.call(link.operator.advance_processing_time, now)

    def take_orders(self, orders: Mapping[str, Any]) -> None:
        """Give the operators their orders, the last one first: the head may begin to emit with its own."""
        for link in reversed(list(self.links.values())):
            uid = link.operator.context.info.uid
            if uid in orders:
                link.call(link.operator.on_order, orders[uid])

    def receive(self, rows: list[ChunkRow]) -> None:
        """Take the chunks of all channels, in the fixed order of channels."""
        for _, _, edge, sender, _, _, payload in rows:
            channel, receive = (edge, sender), self._receivers[edge]
            entries = codec.loads(payload)
            self._entry_bytes = len(payload) // max(1, len(entries))
            for entry in entries:
                if entry.__class__ is tuple:
                    receive(RowBatch(*entry))
                elif entry.__class__ is bytes:
                    self._receive_columns(receive, entry)
                else:
                    self._take_mark(channel, entry)

    @staticmethod
    def _receive_columns(receive: Receiver, entry: bytes) -> None:
        from firesteel.runtime.columns.batch import from_bytes

        for batch in from_bytes(entry):
            receive(batch)

    def _receiver(self, edge: PlannedEdge) -> Receiver:
        """What takes the batches of an edge, in the format of the edge."""
        index = edge.input_index
        take = self.head.receiver(index)

        def take_or_sort(batch: RowBatch) -> None:
            if self._sorted is not None and index in self._sorted.inputs:
                self._sorted.add(index, batch, self._entry_bytes)
            else:
                take(batch)

        head = self.layout.operators[0]
        sorts = self._is_sorted_for(head, self.head.operator)
        keys = edge.key_fields if head.keyed else None
        return receiver(self.head, take_or_sort if sorts else take, edge.format, head.takes, edge.row_type, keys)

    def _take_mark(self, channel: Channel, mark: Any) -> None:
        gate = self.gate
        if mark is END:
            gate.end(channel)
            return
        if self._sorted is not None:  # records before this watermark have not been processed
            if mark.__class__ is int:
                gate.advance(channel, mark)
            return
        was_idle = gate.idle
        advanced = gate.advance(channel, mark) if mark.__class__ is int else gate.set_idle(channel, mark is IDLE)
        if was_idle and not gate.idle:
            self.head.advance_status(False)
        if advanced is not None:
            self.head.advance_watermark(advanced)
        if gate.idle and not was_idle:  # after the watermark: readers do not listen to one that is idle
            self.head.advance_status(True)

    def end_epoch(self, now: int, expired: Callable[[], bool] = never) -> None:
        """After all input of the epoch: fire timers that are due, hand on what is held back, notice the end."""
        if (
            self._sorted is not None
            and self.gate.all_ended
            and not self._sorted.done
            and self._sorted.work_off(expired)
        ):
            self.head.advance_watermark(self.gate.watermark)
        self.advance_processing_time(now)
        self._end_inputs()
        if self._all_input_ended() and not self.ended:
            self.ended = True
            for link in self.links.values():
                if link is not self.head:
                    link.call(link.operator.end_input, 0)
                link.call(link.operator.finish)
            for emitter in self.emitters:
                emitter.end()
        for link in self.links.values():
            link.call(link.operator.end_epoch)
            if link.operator.context.keyed_state is not None:
                link.call(link.operator.context.keyed_state.end_epoch)

    def settle(self) -> None:
        """All that has come so far has been processed, and more of this epoch may come: hand on what need not wait."""
        for link in self.links.values():
            link.call(link.operator.settle)

    def _end_inputs(self) -> None:
        """Tell the head about each of its inputs that has ended."""
        for index in sorted(set(self._input_of_edge.values()) - self._ended_inputs):
            if self.gate.has_ended(index) and not self._waits_for_its_end():
                self._ended_inputs.add(index)
                self.head.call(self.head.operator.end_input, index)

    def _all_input_ended(self) -> bool:
        return self.gate.all_ended and not self.head.operator.keeps_open and not self._waits_for_its_end()

    def _waits_for_its_end(self) -> bool:
        """Whether the head has more to do, after all of its input has come, than one epoch has time for."""
        return self.head.operator.end_of_time_under_way or (self._sorted is not None and not self._sorted.done)

    def go_on(self) -> None:
        """Continue what the epoch before had no time for."""
        if self.head.operator.end_of_time_under_way:
            self.head.advance_watermark(MAX_WATERMARK)

    def snapshot(self, request: EpochRequest, report: SubtaskReport) -> None:
        """Have all operators prepare for a checkpoint; unless the chain has ended, add their state to the report."""
        for link in self.links.values():
            operator, context = link.operator, link.operator.context
            link.call(operator.before_snapshot, request.checkpoint_id)
            if self.ended:
                continue
            report.snapshots[context.info.uid] = OperatorSnapshot(
                keyed=self._keyed_snapshot(context.keyed_state, request.snapshot),
                full=request.snapshot.full,
                operator_state=context.operator_state.snapshot(),
                own=link.call(operator.snapshot),
                event_time={
                    **operator.event_time_state(),
                    "gate": self.gate.snapshot() if link is self.head and self.layout.inputs else None,
                },
                types={} if context.keyed_state is None else dict(context.keyed_state.types),
            )

    @staticmethod
    def _keyed_snapshot(backend: KeyedStateBackend | None, order: SnapshotOrder) -> KeyedContent | None:
        if backend is None or not backend.used:
            return None
        if order.beside:
            return backend.full_parts
        if order.full:
            backend.forget_deltas()
            return backend.full_parts
        return backend.take_deltas()

    def forget_deltas(self) -> None:
        """Nobody will ask what has changed so far."""
        for link in self.links.values():
            backend = link.operator.context.keyed_state
            if backend is not None:
                backend.forget_deltas()

    def report(self, report: SubtaskReport) -> None:
        """Add timers, what operators report to the driver, and metrics."""
        for planned in self.layout.operators:
            link = self.links[planned.id]
            operator = link.operator
            timer = None if self._sorted is not None and link is self.head else operator.next_processing_timer()
            if timer is not None and (report.next_timer is None or timer < report.next_timer):
                report.next_timer = timer
            message = link.call(operator.report)
            if message is not None:
                report.messages[planned.info.uid] = self._packed(planned.id, link, message)
            if operator.context.operator_state.has_union_state:
                report.union_state.append(planned.info.uid)
            report.metrics[planned.info.uid] = self._metrics(planned, link)
            self._remark_on(operator, report.remarks)
        for edge, emitter in zip(self.layout.outputs, self.emitters):
            if emitter.only_none is not None:
                report.remarks.only_none[emitter.edge] = (edge.info, emitter.only_none)

    @staticmethod
    def _remark_on(operator: Operator, remarks: Remarks) -> None:
        info, output = operator.context.info, operator.output
        made = operator.made_watermarks()
        if made is not None:
            remarks.watermarks[info.uid] = made
        remarks.undeclared += [(info, tag) for tag in sorted(output.undeclared)]
        output.undeclared.clear()

    def _packed(self, operator: int, link: ChainLink, message: Any) -> bytes:
        """A report as bytes; what cannot be pickled is the failure of the operator that made it."""
        if not link.operator.reports_records:
            packed: bytes = link.call(codec.dumps, message)
            return packed
        try:
            return codec.dumps(message)
        except Exception as error:
            makers = [edge.operator for edge in self.layout.chained_edges if edge.target == operator]
            maker = self.links[(makers or [operator])[0]].operator.context.info
            raise unpicklable(maker, message, error) from error

    def _metrics(self, planned: PlannedOperator, link: ChainLink) -> dict[str, Any]:
        context, output = link.operator.context, link.operator.output
        keyed = context.keyed_state
        return {
            "numRecordsIn": link.records_in + link.operator.records_read,
            "numRecordsOut": output.records_out,
            "currentInputWatermark": link.operator.watermark,
            "currentOutputWatermark": output.watermark,
            "numKeyedStateEntries": 0 if keyed is None else keyed.entry_count(),
            "user": link.call(self._groups[planned.id].snapshot),
        }

    def close(self) -> list[Exception]:
        """Close all operators; what they raise does not keep the others from closing."""
        errors: list[Exception] = []
        if self._sorted is not None:
            self._sorted.close()
        for link in self.links.values():
            try:
                link.call(link.operator.close)
            except Exception as error:
                errors.append(error)
            if link.operator.context.keyed_state is not None:
                link.operator.context.keyed_state.close()
        return errors


def _refuse_other_formats(planned: PlannedOperator, operator: Operator) -> None:
    """The plan has looked at the factory to find out about formats; some factories do not let one see."""
    for said, found in ((planned.takes, operator.takes), (planned.gives, operator.gives)):
        if found is not said and Format.EITHER is not found:
            raise ProgramError(
                f"the factory of this operator makes a {type(operator).__name__}, which works on {found.value}, but "
                "does not show it. Pass the class itself, or a functools.partial of it, not a lambda"
            )


@dataclass
class SubtaskSettings:
    """What all chains of a subtask share."""

    clock: Clock
    generation: int
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    cached_files: dict[str, str] = field(default_factory=dict)
    """Files that every worker has: their paths on this host, by name."""
    restores: dict[str, OperatorRestore] = field(default_factory=dict)
    backend_factory: BackendFactory = HashMapBackend
    sorter_factory: Callable[[int], KeySorter] = KeySorter
    """Makes what sorts the input of keyed operators in BATCH mode, out of the number of inputs."""


class LevelSubtask:
    """Subtask ``index`` of one level."""

    def __init__(self, level: int, index: int, layouts: Iterable[PlannedChain], settings: SubtaskSettings) -> None:
        self.level = level
        self.index = index
        self.clock = settings.clock
        self.batch_mode = settings.worker.batch_mode
        self.chains = {layout.id: ChainInstance(layout, index, settings) for layout in layouts}
        self._chain_of_edge = {edge.id: chain for chain in self.chains.values() for edge in chain.layout.inputs}
        self.opened = False
        self._closed = False

    def chain_of_edge(self, edge: int) -> ChainInstance:
        """The chain that reads from an edge."""
        return self._chain_of_edge[edge]

    @property
    def backends(self) -> list[KeyedStateBackend]:
        """The keyed state of all operators."""
        found = [link.operator.context.keyed_state for chain in self.chains.values() for link in chain.links.values()]
        return [backend for backend in found if backend is not None]

    @property
    def bytes_ready(self) -> int:
        """The size of the chunks that wait for the end of the epoch."""
        emitters = [emitter for chain in self.chains.values() for emitter in chain.emitters]
        return sum(writer.size for emitter in emitters for writer in emitter.writers)

    def open(self) -> None:
        """Open all operators, once, before the first epoch."""
        self.opened = True
        for chain in self.chains.values():
            chain.open()

    def run_epoch(
        self,
        request: EpochRequest,
        rows: Iterable[ChunkRow],
        orders: Mapping[str, Any],
        attempt: str,
        expired: Callable[[], bool],
    ) -> tuple[list[ChunkRow], SubtaskReport]:
        """Run one epoch: all input of this subtask in, everything that leaves it out.

        :param orders: Operator uid -> what its coordinator says.
        """
        may_pause = not (self.batch_mode or request.snapshot.drains)  # a drain fires everything before the savepoint
        self.clock.begin_epoch(request.now, request.previous_end, expired, may_pause)
        report = SubtaskReport(self.level, self.index)
        by_chain = self._sort(rows, report)
        if not self.opened:
            self.open()
        produced: list[ChunkRow] = []
        for chain in self.chains.values():
            if request.completed_checkpoint is not None and not chain.ended:
                for link in chain.links.values():
                    link.call(link.operator.checkpoint_complete, request.completed_checkpoint)
            self._run_chain(chain, request, by_chain[chain.layout.id], orders, report)
            for emitter in chain.emitters:
                produced.extend(emitter.take_rows(attempt))
        for row in produced:
            sent_to = (row[2], row[1])
            report.sent[sent_to] = report.sent.get(sent_to, 0) + 1
        if all(chain.ended for chain in self.chains.values()):
            for error in self.close():
                raise error
        return produced, report

    def _run_chain(
        self,
        chain: ChainInstance,
        request: EpochRequest,
        rows: list[ChunkRow],
        orders: Mapping[str, Any],
        report: SubtaskReport,
    ) -> None:
        if not chain.ended:
            self._run_open_chain(chain, request, rows, orders, report)
        chain.report(report)
        if chain.ended:
            report.ended_chains.append(chain.layout.id)

    def _run_open_chain(
        self,
        chain: ChainInstance,
        request: EpochRequest,
        rows: list[ChunkRow],
        orders: Mapping[str, Any],
        report: SubtaskReport,
    ) -> None:
        chain.go_on()
        chain.advance_processing_time(request.now)
        chain.take_orders(orders)
        chain.receive(rows)
        chain.end_epoch(request.now, self.clock.used_up)
        if request.snapshot.takes_snapshot or chain.ended:
            chain.snapshot(request, report)
        if request.snapshot.forgets:
            chain.forget_deltas()

    def _sort(self, rows: Iterable[ChunkRow], report: SubtaskReport) -> dict[int, list[ChunkRow]]:
        """Chunks by chain, in the fixed order (edge, sender, sequence), whatever order the shuffle brought them in."""
        by_chain: dict[int, list[ChunkRow]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: row[2:5]):
            by_chain[self._chain_of_edge[row[2]].layout.id].append(row)
            channel = (row[2], row[3])
            attempt, count = report.received.get(channel, (row[5], 0))
            report.received[channel] = (attempt if attempt == row[5] else "several attempts", count + 1)
        return by_chain

    def close(self) -> list[Exception]:
        """Close all operators, once."""
        if self._closed or not self.opened:
            return []
        self._closed = True
        return [error for chain in self.chains.values() for error in chain.close()]
