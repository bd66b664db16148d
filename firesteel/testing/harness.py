"""Drives one operator by hand: records, watermarks and processing time in, records out, snapshots between.

The operator runs in the same surroundings as in a job: it is pickled, built into a chain of its own, fed through the
gate that combines watermarks, and its snapshots are the bytes of a state file. What works here works there. ::

    harness = KeyedOneInputOperatorHarness(partial(KeyedProcessOperator, CountPerKey()), lambda value: value[0])
    harness.process_element(("a", 1), timestamp=10)
    harness.process_watermark(10)
    assert harness.output_values() == [("a", 1)]

    other = KeyedOneInputOperatorHarness(partial(KeyedProcessOperator, CountPerKey()), lambda value: value[0])
    other.restore(harness.snapshot())
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

from firesteel.common.time import MAX_WATERMARK
from firesteel.errors import ProgramError
from firesteel.metrics import MetricSnapshot
from firesteel.model.output_tag import OutputTag
from firesteel.plan.serialization import pickle_for_workers
from firesteel.runtime import partitioners
from firesteel.runtime.batch import ACTIVE, END, IDLE, Entry, RowBatch
from firesteel.runtime.chain import ChainInstance, SubtaskSettings
from firesteel.runtime.epoch import EpochRequest, SubtaskReport
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.layout import PlannedChain, PlannedEdge, PlannedOperator
from firesteel.runtime.operator import Clock, Operator
from firesteel.runtime.snapshot_order import SnapshotOrder
from firesteel.runtime.worker_settings import WorkerSettings
from firesteel.state import codec, snapshots
from firesteel.state.backend import HashMapBackend, KeyedStateBackend
from firesteel.state.key_groups import DEFAULT_MAX_PARALLELISM, subtask_of_key

__all__ = [
    "KeyedOneInputOperatorHarness",
    "KeyedTwoInputOperatorHarness",
    "OneInputOperatorHarness",
    "OutputRecord",
    "OutputWatermark",
    "TwoInputOperatorHarness",
]

_H = TypeVar("_H", bound="_Harness")
HARNESS_UID = "operator-under-test"
_INFO = OperatorInfo("operator under test", HARNESS_UID, "harness")


class OutputRecord(NamedTuple):
    """A record that the operator emitted; ``timestamp`` is None if it has none."""

    value: Any
    timestamp: int | None


class OutputWatermark(NamedTuple):
    """A watermark that the operator emitted."""

    timestamp: int


class _Harness:
    """What all harnesses share.

    :param factory: Makes the operator. It is pickled, as in a job: what the test wants to look at comes as output.
    :param parallelism: How many subtasks the operator has; the harness drives one of them.
    :param now: Processing time at the start, in milliseconds.
    :param auto_watermark_interval: How often periodic watermark generators are asked, in milliseconds: 0 never, None
        after every batch.
    :param state_backend: Makes the keyed state backend out of the number of key groups.
    """

    _inputs = 1

    def __init__(
        self,
        factory: Callable[[], Operator],
        key_selectors: Sequence[Callable[[Any], Any]] | None = None,
        *,
        subtask_index: int = 0,
        parallelism: int = 1,
        max_parallelism: int = DEFAULT_MAX_PARALLELISM,
        now: int = 0,
        batch_mode: bool = False,
        job_parameters: dict[str, str] | None = None,
        auto_watermark_interval: int | None = None,
        state_backend: Callable[[int], KeyedStateBackend] = HashMapBackend,
    ) -> None:
        self._factory = factory
        self._state_backend = state_backend
        self._key_selectors = key_selectors
        self._subtask = subtask_index
        self._clock = Clock(now)
        self._parallelism, self._max_parallelism = parallelism, max_parallelism
        self._batch_mode = batch_mode
        self._job_parameters = job_parameters or {}
        self._auto_watermark_interval = auto_watermark_interval
        self._restore: snapshots.OperatorRestore | None = None
        self._chain: ChainInstance | None = None
        self._checkpoint_id = 0
        self._output: list[OutputRecord | OutputWatermark] = []
        self._side_outputs: dict[str, list[OutputRecord]] = {}

    # ---- life ----------------------------------------------------------------------------------------------------

    def restore(self: _H, *stored: bytes, rescaled: bool = False) -> _H:
        """Go on from snapshots; before anything else is done.

        :param stored: What :meth:`snapshot` returned: the last full one and those after it, in order; or, if
            ``rescaled``, one full snapshot of each former subtask.
        """
        if self._chain is not None:
            raise ProgramError("restore() comes first: the operator of this harness runs already. Make a new harness.")
        history = [snapshots.decode(data, "given to the harness", [HARNESS_UID])[HARNESS_UID] for data in stored]
        histories = [[snapshot] for snapshot in history] if rescaled else [history]
        self._restore = snapshots.restore_of(len(stored), rescaled, histories)
        self._checkpoint_id = len(stored)
        return self

    def open(self: _H) -> _H:
        """Build and open the operator. Everything else does it when it is needed."""
        self._running()
        return self

    def _running(self) -> ChainInstance:
        if self._chain is None:
            self._chain = chain = self._build()
            chain.open()
            chain.advance_processing_time(self._clock.now)
        return self._chain

    def _build(self) -> ChainInstance:
        keyed = self._key_selectors is not None
        factory = pickle_for_workers(self._factory, "the operator under test", "harness")
        planned = PlannedOperator(0, _INFO, factory, self._inputs, keyed)
        edges = tuple(self._edge(index) for index in range(self._inputs))
        layout = PlannedChain(0, 0, self._parallelism, self._max_parallelism, (planned,), inputs=edges)
        settings = SubtaskSettings(
            clock=self._clock,
            generation=0,
            worker=WorkerSettings(
                batch_mode=self._batch_mode,
                job_parameters=self._job_parameters,
                chunk_records=1024,
                auto_watermark_interval=self._auto_watermark_interval,
            ),
            restores={} if self._restore is None else {HARNESS_UID: self._restore},
            backend_factory=self._state_backend,
        )
        chain = ChainInstance(layout, self._subtask, settings)
        output = chain.head.operator.output
        output.connect(self._take_records, self._take_watermark, lambda idle: None)
        # Nobody listens to side outputs by default; here all of them are of interest, whatever their names.
        setattr(output, "emit_side", self._take_side_records)  # noqa: B010
        return chain

    def _edge(self, input_index: int) -> PlannedEdge:
        """Stands for the edge that leads to an input."""
        return PlannedEdge(
            id=input_index,
            operator=-1,
            producers=self._parallelism,
            target=0,
            level=0,
            targets=self._parallelism,
            max_parallelism=self._max_parallelism,
            input_index=input_index,
            kind=partitioners.FORWARD,
            partitioning=b"",
            info=_INFO,
            name=(input_index, "", "", 0),
        )

    def close(self) -> None:
        """Close the operator; what it raises is raised here."""
        if self._chain is not None:
            for error in self._chain.close():
                raise error

    def __enter__(self: _H) -> _H:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- in ------------------------------------------------------------------------------------------------------

    def _send(self, input_index: int, entry: Entry) -> None:
        row = (0, self._subtask, input_index, self._subtask, 0, "harness", codec.dumps([entry]))
        self._running().receive([row])

    def _send_records(self, input_index: int, records: Iterable[tuple[Any, int | None]]) -> None:
        """Send records in as few batches as there can be: those with and those without timestamps are apart."""
        values: list[Any] = []
        stamps: list[int | None] = []
        for value, stamp in records:
            if stamps and (stamps[-1] is None) != (stamp is None):
                self._send_batch(input_index, values, stamps)
                values, stamps = [], []
            values.append(value)
            stamps.append(stamp)
        if values:
            self._send_batch(input_index, values, stamps)

    def _send_batch(self, input_index: int, values: list[Any], stamps: list[int | None]) -> None:
        keys = None if self._key_selectors is None else list(map(self._key_selectors[input_index], values))
        self._send(input_index, (values, None if stamps[0] is None else stamps, keys))

    def set_processing_time(self, now: int) -> None:
        """Move processing time, which fires timers."""
        chain = self._running()
        self._clock.now = now
        chain.advance_processing_time(now)

    def end_epoch(self) -> None:
        """End an epoch: timers that are due fire, and the operator hands on what it held back."""
        self._running().end_epoch(self._clock.now)
        self._clock.previous_end = self._clock.now

    def end_input(self) -> None:
        """All inputs end: the last watermark comes, then the operator finishes."""
        for index in range(self._inputs):
            self._send(index, MAX_WATERMARK)
        for index in range(self._inputs):
            self._send(index, END)
        self.end_epoch()

    def snapshot(self, full: bool = True) -> bytes:
        """Take a snapshot as a checkpoint does.

        :param full: Everything; otherwise only what has changed since the last one.
        """
        self._checkpoint_id += 1
        report = SubtaskReport(0, self._subtask)
        order = SnapshotOrder.of_checkpoint(full, at_once=False)
        request = EpochRequest(
            self._checkpoint_id, 0, self._clock.now, checkpoint_id=self._checkpoint_id, snapshot=order
        )
        self._running().snapshot(request, report)
        return snapshots.encode(report.snapshots)

    # ---- out -----------------------------------------------------------------------------------------------------

    def _take_records(self, batch: RowBatch) -> None:
        self._output.extend(_records(batch))

    def _take_watermark(self, watermark: int) -> None:
        self._output.append(OutputWatermark(watermark))

    def _take_side_records(self, tag_name: str, batch: RowBatch) -> None:
        self._side_outputs.setdefault(tag_name, []).extend(_records(batch))

    def output(self) -> list[OutputRecord | OutputWatermark]:
        """Everything that the operator emitted to its main output, in order."""
        return list(self._output)

    def output_records(self) -> list[OutputRecord]:
        """The records that the operator emitted to its main output."""
        return [entry for entry in self._output if isinstance(entry, OutputRecord)]

    def output_values(self) -> list[Any]:
        """The records without their timestamps."""
        return [record.value for record in self.output_records()]

    def output_watermarks(self) -> list[int]:
        """The watermarks that the operator emitted."""
        return [entry.timestamp for entry in self._output if isinstance(entry, OutputWatermark)]

    def side_output(self, tag: OutputTag) -> list[OutputRecord]:
        """The records that the operator emitted to a side output."""
        return list(self._side_outputs.get(tag.tag_id, []))

    def clear_output(self) -> None:
        """Forget what was emitted so far."""
        self._output.clear()
        self._side_outputs.clear()

    # ---- looking inside ------------------------------------------------------------------------------------------

    @property
    def operator(self) -> Operator:
        """The operator under test."""
        return self._running().head.operator

    def state_entries(self) -> int:
        """How many entries the operator's keyed state has."""
        backend = self._running().head.operator.context.keyed_state
        return 0 if backend is None else backend.entry_count()

    def timers(self) -> int:
        """How many timers are registered."""
        backend = self._running().head.operator.context.keyed_state
        content = {} if backend is None else backend.full_copy()
        return sum(len(change["puts"]) for kind, _, change in content.values() if kind == "timers")

    def next_processing_timer(self) -> int | None:
        """When the operator wants to be woken up."""
        return self._running().head.operator.next_processing_timer()

    def metrics(self) -> MetricSnapshot:
        """The metrics of the operator and of its functions."""
        return self._running().head.operator.context.metrics.snapshot()


def _records(batch: RowBatch) -> list[OutputRecord]:
    stamps: Sequence[int | None] = batch.timestamps or [None] * len(batch.values)
    return [OutputRecord(value, stamp) for value, stamp in zip(batch.values, stamps, strict=True)]


class OneInputOperatorHarness(_Harness):
    """Drives an operator with one input and without keys."""

    def __init__(self, factory: Callable[[], Operator], **settings: Any) -> None:
        super().__init__(factory, **settings)

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """Send one record."""
        self._send_records(0, [(value, timestamp)])

    def process_elements(self, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Send several (value, timestamp) in one batch."""
        self._send_records(0, elements)

    def process_watermark(self, watermark: int) -> None:
        """Send a watermark."""
        self._send(0, watermark)

    def process_status(self, idle: bool) -> None:
        """Say that the input has become idle, or active again."""
        self._send(0, IDLE if idle else ACTIVE)


class KeyedOneInputOperatorHarness(OneInputOperatorHarness):
    """Drives an operator with one keyed input."""

    def __init__(self, factory: Callable[[], Operator], key_selector: Callable[[Any], Any], **settings: Any) -> None:
        super().__init__(factory, key_selectors=(key_selector,), **settings)

    def owns(self, value: Any) -> bool:
        """Whether records with this record's key come to the subtask that the harness drives."""
        assert self._key_selectors is not None
        key = self._key_selectors[0](value)
        return subtask_of_key(key, self._parallelism, self._max_parallelism) == self._subtask


class TwoInputOperatorHarness(_Harness):
    """Drives an operator with two inputs and without keys."""

    _inputs = 2

    def __init__(self, factory: Callable[[], Operator], **settings: Any) -> None:
        super().__init__(factory, **settings)

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """Send one record to the first input."""
        self._send_records(0, [(value, timestamp)])

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Send one record to the second input."""
        self._send_records(1, [(value, timestamp)])

    def process_elements1(self, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Send several (value, timestamp) to the first input in one batch."""
        self._send_records(0, elements)

    def process_elements2(self, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Send several (value, timestamp) to the second input in one batch."""
        self._send_records(1, elements)

    def process_watermark1(self, watermark: int) -> None:
        """Send a watermark to the first input."""
        self._send(0, watermark)

    def process_watermark2(self, watermark: int) -> None:
        """Send a watermark to the second input."""
        self._send(1, watermark)

    def process_both_watermarks(self, watermark: int) -> None:
        """Send the same watermark to both inputs."""
        self._send(0, watermark)
        self._send(1, watermark)


class KeyedTwoInputOperatorHarness(TwoInputOperatorHarness):
    """Drives an operator with two inputs that are keyed alike."""

    def __init__(
        self,
        factory: Callable[[], Operator],
        key_selector1: Callable[[Any], Any],
        key_selector2: Callable[[Any], Any],
        **settings: Any,
    ) -> None:
        super().__init__(factory, key_selectors=(key_selector1, key_selector2), **settings)


class MultipleInputOperatorHarness(_Harness):
    """Drives an operator with any number of inputs, counted from 0.

    :param key_selectors: One per input, if the inputs are keyed.
    """

    def __init__(
        self,
        factory: Callable[[], Operator],
        inputs: int,
        key_selectors: Sequence[Callable[[Any], Any]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(factory, key_selectors, **settings)
        self._inputs = inputs

    def process_element(self, input_index: int, value: Any, timestamp: int | None = None) -> None:
        """Send one record to an input."""
        self._send_records(input_index, [(value, timestamp)])

    def process_elements(self, input_index: int, elements: Iterable[tuple[Any, int | None]]) -> None:
        """Send several (value, timestamp) to an input in one batch."""
        self._send_records(input_index, elements)

    def process_watermark(self, input_index: int, watermark: int) -> None:
        """Send a watermark to an input."""
        self._send(input_index, watermark)
