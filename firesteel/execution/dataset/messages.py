"""Iterations in which records send each other messages.

A task holds a block: some records with their values, and their edges. Between supersteps the values travel as one row
per block, together with the messages for it, so that a superstep is one Spark job with one exchange; the edges, which
never change, are kept beside. What was exchanged stays on disk as long as it is needed, and need not be kept otherwise.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from firesteel.dataset.keys import Keys
from firesteel.dataset.messages import UNCHANGED, Around, Outbox
from firesteel.dataset.plan.nodes import MessageIterationNode, MessagePartNode
from firesteel.dataset.plan.optimizer import Partitioned, Step
from firesteel.execution.dataset import stages
from firesteel.execution.dataset.exchange import batches_of, records_of, tasks_of
from firesteel.execution.dataset.iterations import Aggregates
from firesteel.execution.dataset.task import Packed, TaskSettings, run_task

if TYPE_CHECKING:
    from firesteel.execution.dataset.translation import Translation

Rdd = Any
Row = tuple[int, tuple[str, Any]]
"""Task, and what comes to it: edges, the values of a block, or messages."""

_EDGES, _VALUES, _MESSAGES = "edges", "values", "messages"
_SIZES, _COUNTS = "sizes", "counts"
_STEPS_PER_HISTORY = 10


@dataclass
class Block:
    """The records of a task, while they have their turns.

    :param edges: What :class:`Around` is made of.
    :param awake: The keys of the records that send; None for all.
    """

    index: int
    edges: tuple[Any, Any, Any] = ({}, None, True)
    values: dict[Any, Any] = field(default_factory=dict)
    awake: list[Any] | None = None
    inbox: Outbox = field(default_factory=lambda: defaultdict(list))
    outbox: Outbox = field(default_factory=lambda: defaultdict(list))


def iterate(translation: Translation, step: Step) -> Rdd:
    """The records after the last superstep."""
    return _Iteration(translation, step).run()


class _Iteration:
    """One iteration: the driver's side of it."""

    def __init__(self, translation: Translation, step: Step) -> None:
        node = step.node
        assert isinstance(node, MessageIterationNode) and node.receive is not None
        self._translation, self._step, self._node, self._receiver = translation, step, node, node.receive
        self._own = frozenset(part.id for part in node.parts)
        self._aggregates = Aggregates(translation, node)
        self._waits = bool(self._aggregates) or not node.sends_at_once
        self._settings = translation.settings(step)
        self._kept: list[Rdd] = []
        self._edges, self._tasks = self._dealt_edges()

    def run(self) -> Rdd:
        """Superstep after superstep."""
        node, rows = self._node, self._first_values()
        if node.send is not None:
            rows = self._exchanged(self._sending(self._loaded(rows, None), 1), 1)
        for number in range(1, node.max_iterations + 1):
            blocks = self._received(self._loaded(rows, number), number)
            if node.send is not None and self._waits:
                rows = self._materialized(stages.stage(blocks, self._settings, None, _unloaded), number)
                if self._is_over(number):
                    break
                if number < node.max_iterations:
                    rows = self._exchanged(self._sending(self._loaded(rows, None), number + 1), number + 1)
            else:
                if node.send is not None and number < node.max_iterations:
                    blocks = self._sending(blocks, number + 1)
                rows = self._materialized(self._exchanged(blocks, number), number)
                if self._is_over(number):
                    break
        return self._records(rows)

    def _is_over(self, number: int) -> bool:
        converged = bool(self._aggregates) and self._aggregates.converged(number, self._own)
        return converged or (not self._node.everyone and not sum(self._reported(_COUNTS, number)))

    def _reported(self, name: str, number: int) -> Iterator[Any]:
        """What tasks of this iteration have said about themselves, in a superstep."""
        for (step, superstep, *_), (_, said) in self._translation.channel.value.items():
            if step == self._node.id and superstep == number and name in said:
                yield said[name]

    # --- what a superstep begins with ---------------------------------------------------------------

    def _dealt_edges(self) -> tuple[Rdd, int]:
        """The edges of each task, kept; and the number of tasks: so many that those of each fit into memory."""
        translation, node, tasks = self._translation, self._node, self._step.tasks
        settings, memory = self._settings, self._translation.memory

        def task(index: int, records: Iterator[Any]) -> Iterator[Any]:
            return run_task(settings, index, None, partial(_dealt, settings, index, node.along, tasks), records)

        rows = translation.input(self._step, 1).mapPartitionsWithIndex(task).partitionBy(tasks, int)
        translation.engine.materialize(rows)
        sizes = [0] * tasks
        for found in self._reported(_SIZES, 0):
            sizes = [size + more for size, more in zip(sizes, found)]
        if max(sizes) > memory:
            tasks *= -(-max(sizes) // memory)
            rows = rows.mapPartitions(partial(_dealt_again, tasks)).partitionBy(tasks, int)
        return translation.keep(stages.stage(rows, settings, None, partial(_with_edges, node.along))), tasks

    def _first_values(self) -> Rdd:
        translation, keys = self._translation, Keys(fields=(0,))
        before = translation.steps[self._node.inputs[0].id].partitioned
        wanted = Partitioned(keys, self._tasks)
        _, rows = translation.placed_by(translation.input(self._step, 0), self._step, wanted, before)
        return stages.stage(rows, self._settings, None, _with_values)

    # --- a superstep --------------------------------------------------------------------------------

    def _loaded(self, rows: Rdd, number: int | None) -> Rdd:
        """Rows as blocks; with a superstep, messages are combined as they arrive in it."""
        together = self._translation.together([self._edges, rows], self._tasks)
        combine = self._node.combine if number is not None else None
        settings = self._settings if combine is None else self._settings_of(combine, number or 1)
        return stages.stage(together, settings, None if combine is None else combine.function, _loading)

    def _received(self, blocks: Rdd, number: int) -> Rdd:
        everyone = self._node.everyone or (number == 1 and self._node.send is None)
        work = partial(_receiving, everyone)
        return stages.stage(blocks, self._settings_of(self._receiver, number), self._receiver.function, work)

    def _sending(self, blocks: Rdd, number: int) -> Rdd:
        part = self._node.send
        assert part is not None
        return stages.stage(blocks, self._settings_of(part, number), part.function, _sending)

    def _exchanged(self, blocks: Rdd, number: int) -> Rdd:
        """Values stay in their task, messages go to that of their receiver."""
        combine, own, tasks = self._node.combine, self._settings, self._tasks
        settings = own if combine is None else replace(self._settings_of(combine, number), phase=1)
        packed = Packed(None if combine is None else combine.function, settings.info)

        def task(index: int, blocks: Iterator[Block]) -> Iterator[Row]:
            function = packed.load()
            return run_task(settings, index, function, partial(_outgoing, own, function, number, tasks), blocks)

        return blocks.mapPartitionsWithIndex(task).partitionBy(tasks, int)

    def _materialized(self, rows: Rdd, number: int) -> Rdd:
        """Carry a superstep out. Every so often its history is cut off, which Spark would otherwise remember."""
        waits = self._node.send is not None and self._waits
        if waits:
            rows = self._counted(rows, number)
        cuts = number % _STEPS_PER_HISTORY == 0
        if waits or cuts:
            self._translation.keep(rows)
        if cuts:
            rows.localCheckpoint()
        self._translation.engine.materialize(rows)
        if waits or cuts:
            for each in self._kept:
                each.unpersist()
            self._kept = [rows]
        return rows

    def _counted(self, rows: Rdd, number: int) -> Rdd:
        """Has tasks say how many records have changed."""
        settings = self._settings

        def task(index: int, rows: Iterator[Row]) -> Iterator[Row]:
            for row in rows:
                _report(settings, number, index, _COUNTS, len(row[1][1][1] or ()))
                yield row

        return rows.mapPartitionsWithIndex(task, preservesPartitioning=True)

    def _settings_of(self, part: MessagePartNode, number: int) -> TaskSettings:
        settings = self._translation.settings(Step(part, (), self._tasks))
        return stages.at_superstep(settings, self._aggregates.superstep(number))

    def _records(self, rows: Rdd) -> Rdd:
        records = stages.stage(rows, self._settings, None, _as_records)
        if self._tasks == self._step.tasks:
            return records
        wanted = Partitioned(Keys(fields=(0,)), self._step.tasks)
        _, again = self._translation.placed_by(records, self._step, wanted, None)
        return stages.stage(again, self._settings, None, _just_records)


# --- in tasks: edges and values ---------------------------------------------------------------------


def _report(settings: TaskSettings, number: int, index: int, name: str, value: Any) -> None:
    settings.channel.add({(settings.step, number, index, 2): ({}, {name: value})})


def _dealt(
    settings: TaskSettings, index: int, along: tuple[bool, bool], tasks: int, edges: Iterator[Any]
) -> Iterator[tuple[int, bytes]]:
    """Edges as chunks for the tasks of the records that they belong to: ``(keys, others, values, outgoing)``."""
    sizes = [0] * tasks
    for task, chunk in _edge_chunks(edges, along, tasks):
        sizes[task] += len(chunk)
        yield task, chunk
    _report(settings, 0, index, _SIZES, sizes)


def _edge_chunks(edges: Iterator[Any], along: tuple[bool, bool], tasks: int) -> Iterator[tuple[int, bytes]]:
    held: list[list[tuple[Any, Any, Any]]] = [[] for _ in range(tasks)]
    ways = [(outgoing, 0 if outgoing else 1) for outgoing, wanted in zip((True, False), along) if wanted]
    for batch in batches_of(edges):
        for outgoing, own in ways:
            for task, edge in zip(tasks_of([edge[own] for edge in batch], tasks), batch):
                held[task].append(edge)
            for task, part in enumerate(held):
                if part:
                    yield task, _chunk(part, outgoing)
                    held[task] = []


def _chunk(edges: list[tuple[Any, Any, Any]], outgoing: bool) -> bytes:
    sources, targets, values = (list(column) for column in zip(*edges))
    given = None if all(value is None for value in values) else values
    ends = (sources, targets) if outgoing else (targets, sources)
    return pickle.dumps((*ends, given, outgoing), 5)


def _dealt_again(tasks: int, rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The same chunks, divided for more tasks."""
    for _, chunk in rows:
        keys, others, values, outgoing = pickle.loads(chunk)
        parts: dict[int, list[tuple[Any, Any, Any]]] = {}
        for task, key, other, value in zip(tasks_of(keys, tasks), keys, others, values or [None] * len(keys)):
            edge = (key, other, value) if outgoing else (other, key, value)
            parts.setdefault(task, []).append(edge)
        for task, part in parts.items():
            yield task, _chunk(part, outgoing)


def _with_edges(along: tuple[bool, bool], _: Any) -> stages.Work:
    def work(rows: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
        index, edges = None, _Edges(all(along))
        for task, chunk in rows:
            index = task
            edges.add(*pickle.loads(chunk))
        if index is not None:
            yield index, (_EDGES, edges.content(along[0]))

    return work


class _Edges:
    """The edges of a task by key, each kind of knowledge in a table of its own: none is held that nobody has."""

    def __init__(self, both: bool) -> None:
        self._others: dict[Any, list[Any]] = defaultdict(list)
        self._values: dict[Any, list[Any]] | None = None
        self._outgoing: dict[Any, list[bool]] | None = defaultdict(list) if both else None

    def add(self, keys: list[Any], others: list[Any], values: list[Any] | None, outgoing: bool) -> None:
        if values is not None and self._values is None:
            before = {key: [None] * len(found) for key, found in self._others.items()}
            self._values = defaultdict(list, before)
        by_key = self._others
        for key, other in zip(keys, others):
            by_key[key].append(other)
        if self._values is not None:
            for key, value in zip(keys, values or [None] * len(keys)):
                self._values[key].append(value)
        if self._outgoing is not None:
            for key in keys:
                self._outgoing[key].append(outgoing)

    def content(self, outgoing: bool) -> tuple[Any, Any, Any]:
        values = None if self._values is None else dict(self._values)
        return dict(self._others), values, outgoing if self._outgoing is None else dict(self._outgoing)


def _with_values(_: Any) -> stages.Work:
    def work(rows: Iterator[Any]) -> Iterator[Row]:
        values: dict[Any, Any] = {}
        index = None
        for task, (_, chunk) in rows:
            index = task
            values.update(pickle.loads(chunk))
        if index is not None:
            yield index, (_VALUES, (values, None))

    return work


def _as_records(_: Any) -> stages.Work:
    def work(rows: Iterator[Row]) -> Iterator[Any]:
        for _, (kind, content) in rows:
            if kind == _VALUES:
                yield from content[0].items()

    return work


def _just_records(_: Any) -> stages.Work:
    return records_of


# --- in tasks: a superstep --------------------------------------------------------------------------


def _loading(combiner: Any) -> stages.Work:
    def work(rows: Iterator[Row]) -> Iterator[Block]:
        block: Block | None = None
        for index, (kind, content) in rows:
            block = block or Block(index)
            if kind == _EDGES:
                block.edges = content
            elif kind == _VALUES:
                block.values, block.awake = content
            else:
                inbox = block.inbox
                for key, message in zip(*content):
                    inbox[key].append(message)
        if block is None:
            return
        if combiner is not None:
            for key, messages in block.inbox.items():
                if len(messages) > 1:
                    block.inbox[key] = [combiner.combine(messages)]
        yield block

    return work


def _unloaded(_: Any) -> stages.Work:
    def work(blocks: Iterator[Block]) -> Iterator[Row]:
        for block in blocks:
            yield block.index, (_VALUES, (block.values, block.awake))

    return work


def _receiving(everyone: bool, function: Any) -> stages.Work:
    def work(blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            around, values, inbox = Around(*block.edges), block.values, block.inbox
            function.begin(around, block.outbox)
            changed: list[Any] = []
            receive = function.receive
            turns: Iterable[tuple[Any, list[Any]]] = inbox.items()
            if everyone:
                turns = ((key, inbox.get(key) or []) for key in values)
            for key, messages in turns:
                if key not in values:
                    function.receive_for_nobody(key)
                    continue
                around.key = key
                new = receive(key, values[key], messages)
                if new is not UNCHANGED:
                    values[key] = new
                    changed.append(key)
            block.awake = changed
            yield block

    return work


def _sending(function: Any) -> stages.Work:
    def work(blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            around, values = Around(*block.edges), block.values
            function.begin(around, block.outbox)
            send = function.send
            for key in values if block.awake is None else block.awake:
                around.key = key
                send(key, values[key])
            yield block

    return work


def _outgoing(settings: TaskSettings, combiner: Any, number: int, tasks: int, blocks: Iterator[Block]) -> Iterator[Row]:
    for block in blocks:
        yield block.index, (_VALUES, (block.values, block.awake))
        keys: list[list[Any]] = [[] for _ in range(tasks)]
        sent: list[list[Any]] = [[] for _ in range(tasks)]
        for task, (key, messages) in zip(tasks_of(list(block.outbox), tasks), block.outbox.items()):
            if combiner is not None and len(messages) > 1:
                messages = [combiner.combine(messages)]
            keys[task].extend([key] * len(messages))
            sent[task].extend(messages)
        _report(settings, number, block.index, _COUNTS, sum(map(len, sent)))
        for task, content in enumerate(zip(keys, sent)):
            if content[0]:
                yield task, (_MESSAGES, content)
