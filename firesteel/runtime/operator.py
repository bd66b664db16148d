"""The contract of an operator, and what surrounds it: its context, its output, its place in a chain.

Operators are sans-io: batches, watermarks and "now" come in as arguments; batches, watermarks and state go out.

Life of an operator instance: ``setup`` -> ``restore`` (if there is something to restore) -> ``open`` -> any number of
``process`` / ``advance_watermark`` / ``advance_processing_time`` / ``end_epoch`` / ``snapshot`` -> ``finish`` (all
input has ended) -> ``close``. An operator with a half in the driver (``firesteel.model.coordinator``) is also given
``on_order`` at the beginning of each epoch, and asked for its ``report`` at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import length_hint
from typing import TYPE_CHECKING, Any

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.metrics import MetricGroup
from firesteel.model.output_tag import OutputTag
from firesteel.runtime.batch import Format
from firesteel.runtime.failure import OperatorFailure, OperatorInfo, is_from_outside
from firesteel.runtime.partitioners import KeyFields
from firesteel.runtime.records import copied_batch
from firesteel.runtime.remarks import MadeWatermarks

if TYPE_CHECKING:
    from firesteel.state.backend import KeyedStateBackend
    from firesteel.state.operator_state import OperatorStateBackend

Receiver = Callable[[Any], None]
"""Takes a batch, in the format of whoever receives it."""


def never() -> bool:
    """For an epoch that may take as long as it wants."""
    return False


class Clock:
    """Processing time as the runtime sees it: set from outside at the start of each epoch, never read from a clock.

    :ivar now: When the epoch began.
    :ivar previous_end: When the epoch before it ended. What had come until then has been seen.
    """

    __slots__ = ("expired", "now", "previous_end", "used_up")

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self.previous_end = now
        self.expired: Callable[[], bool] = never
        """Whether the time of the epoch is used up: what can be continued in the next one should be."""
        self.used_up: Callable[[], bool] = never
        """The same for those who read input: also in epochs that have to finish whatever has come in."""

    def begin_epoch(
        self,
        now: int,
        previous_end: int | None = None,
        used_up: Callable[[], bool] = never,
        may_pause: bool = True,
    ) -> None:
        """Stand at the beginning of an epoch.

        :param may_pause: Whether what has come in may be worked off in the next epoch.
        """
        self.used_up = used_up
        self.expired = used_up if may_pause else never
        self.now = now
        self.previous_end = now if previous_end is None else previous_end


class _Receivers:
    """Those who receive the same records: one has the records themselves, the others have copies of their own."""

    __slots__ = ("changing", "reading")

    def __init__(self) -> None:
        self.changing: list[Receiver] = []
        self.reading: list[Receiver] = []
        """These never change a record: they can have the same ones."""

    def send(self, batch: Any) -> None:
        changing, reading = self.changing, self.reading
        for receive in changing if reading else changing[:-1]:
            receive(copied_batch(batch))
        for receive in reading or changing[-1:]:
            receive(batch)


class Output:
    """Where an operator sends what it makes: chained operators, emitters, side outputs.

    Records belong to whoever receives them: if several do, each has copies of its own.

    :param object_reuse: All receivers get the same records.
    """

    def __init__(self, object_reuse: bool = False) -> None:
        self._object_reuse = object_reuse
        self._main = _Receivers()
        self._watermark_receivers: list[Callable[[int], None]] = []
        self._status_receivers: list[Callable[[bool], None]] = []
        self._sides: dict[str, _Receivers] = {}
        self.undeclared: set[str] = set()
        """Tags of side outputs that were emitted and that nobody reads."""
        self.records_out = 0
        self.watermark = MIN_WATERMARK
        self.idle = False

    def connect(
        self,
        receive: Receiver,
        on_watermark: Callable[[int], None],
        on_status: Callable[[bool], None],
        tag: OutputTag | None = None,
        reads_only: bool = False,
    ) -> None:
        """Add a receiver of the main output, or of a side output. Watermarks go to both.

        :param reads_only: The receiver never changes a record, so it may share them with others of its kind.
        """
        receivers = self._main if tag is None else self._sides.setdefault(tag.name, _Receivers())
        (receivers.reading if reads_only or self._object_reuse else receivers.changing).append(receive)
        self._watermark_receivers.append(on_watermark)
        self._status_receivers.append(on_status)

    def emit(self, batch: Any) -> None:
        """Send records on, in the operator's format. An empty batch is nothing."""
        count = len(batch)
        if count:
            self.records_out += count
            self._main.send(batch)

    def emit_side(self, tag_name: str, batch: Any) -> None:
        """Send records to a side output; nobody listening is fine, and remembered."""
        if not len(batch):
            return
        if tag_name in self._sides:
            self._sides[tag_name].send(batch)
        else:
            self.undeclared.add(tag_name)

    def emit_watermark(self, watermark: int) -> None:
        """Say that no more records with a timestamp up to ``watermark`` will come. That ends idleness."""
        if watermark > self.watermark:
            self.emit_status(False)
            self.watermark = watermark
            for receive in self._watermark_receivers:
                receive(watermark)

    def emit_status(self, idle: bool) -> None:
        """Say that the output has become idle, or active again."""
        if idle != self.idle:
            self.idle = idle
            for receive in self._status_receivers:
                receive(idle)


@dataclass
class OperatorContext:
    """What an operator instance is given by the subtask that runs it."""

    info: OperatorInfo
    subtask_index: int
    parallelism: int
    max_parallelism: int
    attempt: int
    clock: Clock
    output: Output
    metrics: MetricGroup
    operator_state: OperatorStateBackend
    keyed_state: KeyedStateBackend | None = None
    batch_mode: bool = False
    object_reuse: bool = False
    """Records are handed on as they are, not as copies: nobody changes one that was emitted or received."""
    job_parameters: dict[str, str] = field(default_factory=dict)
    cached_files: dict[str, str] = field(default_factory=dict)
    """Files that every worker has: their paths on this host, by name."""
    restored_checkpoint: int | None = None
    """The checkpoint that the job continues from, or None."""
    rescaled: bool = False
    """Whether that checkpoint was taken with another parallelism of this operator."""
    batch_records: int = 4096
    """How many records a batch of a source has at the most."""
    auto_watermark_interval: int | None = None
    """How often periodic watermark generators are asked, in milliseconds: 0 never, None after every batch."""
    key_fields: KeyFields | None = None
    """The fields that the keys of its input are made of, if they are."""


class Operator(ABC):
    """One operator instance: one subtask's share of one step of the program."""

    context: OperatorContext
    output: Output
    watermark: int = MIN_WATERMARK
    """The event time of this operator: the last watermark that came in."""
    cursor: Iterator[Any] | None = None
    """The iterator over the values of the batch in work: tells which record failed without any cost per record."""

    records_read = 0
    """Records that have come by other ways than the inputs: read by a source, or back through a loop."""
    keeps_open = False
    """Whether more may come by such a way: while it may, the chain of which this is the head does not end."""
    reports_records = False
    """Whether its reports are records that it was given: one that cannot be pickled is a failure of who made it."""
    takes: Format = Format.ROWS
    """The format in which it wants its input. Batches of the other one are turned around before."""
    gives: Format = Format.ROWS
    """The format of what it emits."""

    takes_sorted_input = True
    """Whether keyed input may be sorted for it in BATCH mode."""

    def setup(self, context: OperatorContext) -> None:
        """Called first. An operator that needs state declares it here or in :meth:`open`."""
        self.context = context
        self.output = context.output

    def made_watermarks(self) -> MadeWatermarks | None:
        """For operators that make watermarks: how far they are. Asked once per epoch."""
        return None

    def restore(self, states: list[Any]) -> None:
        """Take back what :meth:`snapshot` returned.

        One state, this subtask's own; or, when the parallelism has changed (``context.rescaled``), the states of all
        former subtasks in order: every new subtask is given all of them and keeps what is its own.
        """
        return None

    def open(self) -> None:
        """Called once before any data."""
        return None

    @abstractmethod
    def process(self, batch: Any) -> None:
        """Take records of the first (or only) input: a batch of the format that the operator takes."""

    def process_second(self, batch: Any) -> None:
        """Take records of the second input."""
        raise TypeError(f"{type(self).__name__} has one input only")

    def receiver(self, input_index: int) -> Receiver:
        """What takes the records of an input, counted from 0. Asked once per input, after :meth:`setup`.

        For operators with more than two inputs see :class:`MultipleInputOperator`.
        """
        if input_index > 1:
            raise TypeError(f"{type(self).__name__} has no input {input_index}: it has two at the most")
        return self.process if input_index == 0 else self.process_second

    def advance_watermark(self, watermark: int) -> None:
        """Event time has advanced: fire timers, then pass the watermark on."""
        self.watermark = watermark
        self.output.emit_watermark(watermark)

    def advance_status(self, idle: bool) -> None:
        """All inputs have become idle, or one of them active again."""
        self.output.emit_status(idle)

    def end_key(self) -> None:
        """In BATCH mode: all records of the key in scope have come. Fire its timers as at the end of all time.

        Its state is forgotten afterwards.
        """
        return None

    @property
    def end_of_time_under_way(self) -> bool:
        """Whether the last watermark has come, and more timers were due than could fire in one epoch."""
        return self.watermark == MAX_WATERMARK > self.output.watermark

    def event_time_state(self) -> dict[str, Any]:
        """Where event time stands, for :meth:`resume_event_time`."""
        return {"operator": self.watermark, "output": self.output.watermark, "idle": self.output.idle}

    def resume_event_time(self, states: list[dict[str, Any]]) -> None:
        """Let event time stand where it stood: where it stood in the slowest, if there were other subtasks."""
        self.watermark = min(state["operator"] for state in states)
        self.output.watermark = min(state["output"] for state in states)
        self.output.idle = all(state["idle"] for state in states)

    def advance_processing_time(self, now: int) -> None:
        """Processing time has advanced: fire timers that are due."""
        return None

    def next_processing_timer(self) -> int | None:
        """When the next processing-time timer is due: the driver starts an epoch then even if no data comes."""
        return None

    def end_epoch(self) -> None:
        """All data of this epoch has come: hand on everything that is held back only for speed."""
        return None

    def settle(self) -> None:
        """All that has come so far has been processed; more of this epoch may come, soon or late.

        For what must not wait for the end of a long epoch. What only costs less when it is done seldom can wait.
        """
        return None

    def rest_of(self, order: Any) -> Any | None:
        """What is left to do of an order, within the same epoch; None: nothing.

        An operator that stops because the clock says ``used_up`` is given the rest soon, if the epoch goes on.
        """
        return None

    @property
    def holds_for_driver(self) -> bool:
        """Whether something waits for the end of the epoch, to be reported to the driver soon."""
        return False

    def end_input(self, input_index: int) -> None:
        """One of the inputs has ended for good; for the last input to end, the last watermark has come before."""
        return None

    def finish(self) -> None:
        """All inputs have ended, the last watermark has come: emit what is left."""
        return None

    def before_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint is about to be taken: bring state up to date."""
        return None

    def snapshot(self) -> Any | None:
        """State of the operator that is neither keyed nor in the operator state store; small, plain data."""
        return None

    def on_order(self, order: Any) -> None:
        """What the operator's coordinator in the driver says, before the records of the epoch.

        An operator without inputs does its work of the epoch here.
        """
        raise TypeError(f"{type(self).__name__} takes no orders, but has got {order!r:.200}")

    def report(self) -> Any | None:
        """What the coordinator is told when the epoch has ended: a value that can be pickled; None for nothing.

        Called in every epoch, after :meth:`end_epoch` and :meth:`snapshot`; also when the input has ended.
        """
        return None

    def checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint that contains this operator's last snapshot is complete."""
        return None

    def close(self) -> None:
        """Called once, at the end, after failure and after cancellation."""
        return None


class MultipleInputOperator(Operator):
    """An operator with any number of inputs, and one method for the records of all of them."""

    @abstractmethod
    def process_input(self, input_index: int, batch: Any) -> None:
        """Take records of an input, counted from 0 in the order in which the streams were given."""

    def process(self, batch: Any) -> None:
        """Records of the first input."""
        self.process_input(0, batch)

    def process_second(self, batch: Any) -> None:
        """Records of the second input."""
        self.process_input(1, batch)

    def receiver(self, input_index: int) -> Receiver:
        """All inputs end in one method."""
        return partial(self.process_input, input_index)


class Guard:
    """Puts the name of an operator (or of an edge's ``key_by``) to whatever goes wrong inside it."""

    def __init__(self, info: OperatorInfo, holder: Any) -> None:
        self.info = info
        self._holder = holder

    def run(self, process: Receiver, batch: Any) -> None:
        """Process a batch; an error names the record, which the holder's ``cursor`` gives away."""
        holder = self._holder
        holder.cursor = None
        try:
            process(batch)
        except OperatorFailure:
            raise
        except BaseException as error:
            if is_from_outside(error):
                raise
            raise OperatorFailure.of(self.info, error, *self._failing_record(batch)) from error

    def call(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Anything else than processing a batch."""
        try:
            return action(*arguments)
        except OperatorFailure:
            raise
        except BaseException as error:
            if is_from_outside(error):
                raise
            raise OperatorFailure.of(self.info, error) from error

    def _failing_record(self, batch: Any) -> tuple[Any, ...]:
        cursor = self._holder.cursor
        if cursor is None:
            return ()
        index = len(batch.values) - length_hint(cursor) - 1
        return (batch.values[index],) if 0 <= index < len(batch.values) else ()


class ChainLink:
    """An operator at its place in a chain: counts what comes in and puts a name to what goes wrong."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.records_in = 0
        self._guard = Guard(operator.context.info, operator)
        keyed = operator.context.keyed_state
        prepares = keyed is not None and keyed.takes_batches and operator.takes is Format.ROWS
        self._begin_batch = keyed.begin_batch if keyed is not None and prepares else None
        self._receivers: dict[int, Receiver] = {}
        self.receive = self.receiver(0)
        """Takes records for the first input."""

    def receiver(self, input_index: int) -> Receiver:
        """What takes the records for an input."""
        if input_index not in self._receivers:
            self._receivers[input_index] = self._make_receiver(self.operator.receiver(input_index))
        return self._receivers[input_index]

    def _make_receiver(self, process: Receiver) -> Receiver:
        begin_batch, guard = self._begin_batch, self._guard

        def receive(batch: Any) -> None:
            self.records_in += len(batch)
            if begin_batch is not None:
                guard.call(begin_batch, batch.keys or ())
            guard.run(process, batch)

        return receive

    def advance_watermark(self, watermark: int) -> None:
        """A watermark for the operator."""
        self._guard.call(self.operator.advance_watermark, watermark)

    def advance_status(self, idle: bool) -> None:
        """A change of idleness for the operator."""
        self._guard.call(self.operator.advance_status, idle)

    def call(self, action: Callable[..., Any], *arguments: Any) -> Any:
        """Call the operator outside of record processing."""
        return self._guard.call(action, *arguments)
