"""What happens to a job, as facts that can be stored: one class per kind, each with its time."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

from firesteel.metrics import MetricSnapshot

__all__ = [
    "CheckpointCompleted",
    "CheckpointFailed",
    "CheckpointTriggered",
    "EpochEnded",
    "ExceptionRaised",
    "JobDescribed",
    "JobEnded",
    "JobEvent",
    "OperatorDescription",
    "OperatorNumbers",
    "OperatorState",
    "Restored",
    "StatusChanged",
    "SubtaskNumbers",
    "SubtaskState",
    "VertexDescription",
    "VertexInput",
    "event_from_json",
    "operator_id",
]


def operator_id(uid: str) -> str:
    """The id of an operator for tools: 32 hexadecimal digits that depend on nothing but its uid."""
    return hashlib.blake2b(uid.encode(), digest_size=16).hexdigest()


def _plain(value: Any) -> Any:
    """Plain data for JSON. What users' gauges return may be anything, and is written as text."""
    if dataclasses.is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class JobEvent:
    """Something that has happened to a job. ``time`` is in milliseconds since 1970, by the driver's wall clock."""

    kind: ClassVar[str] = ""
    time: int

    def to_json(self) -> str:
        """The event as one line of JSON."""
        return json.dumps({"event": self.kind, **_plain(self)}, default=str, separators=(",", ":"))


@dataclass(frozen=True)
class OperatorDescription:
    """An operator of a chain; ``made_at`` is the line of the program."""

    id: str
    uid: str
    name: str
    made_at: str = "-"
    source: bool = False
    sink: bool = False
    keyed: bool = False


@dataclass(frozen=True)
class VertexInput:
    """What a vertex reads: the id of another one, and how records get from there to here (``HASH``, ``FORWARD``...)."""

    id: str
    ship_strategy: str


@dataclass(frozen=True)
class VertexDescription:
    """A chain of operators that run as one task, Flink's job vertex. Its id is that of its first operator."""

    id: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    operators: tuple[OperatorDescription, ...] = ()
    inputs: tuple[VertexInput, ...] = ()


@dataclass(frozen=True)
class JobDescribed(JobEvent):
    """The job has been submitted: what it is made of, and how it is set up."""

    kind: ClassVar[str] = "job"
    job_id: str = ""
    name: str = ""
    batch_mode: bool = False
    bounded: bool = False
    parallelism: int = 1
    host: str = ""
    """Where the driver runs."""
    pid: int = 0
    version: str = ""
    checkpoint_interval: int | None = None
    checkpoint_directory: str | None = None
    state_backend: str = ""
    configuration: dict[str, str] = field(default_factory=dict)
    """What the user has set; secrets are left out."""
    vertices: tuple[VertexDescription, ...] = ()


@dataclass(frozen=True)
class StatusChanged(JobEvent):
    """The job has gone over to another status: a name of :class:`~firesteel.common.JobStatus`."""

    kind: ClassVar[str] = "status"
    status: str = ""
    restarts: int = 0
    """How often the job has been restarted so far."""


@dataclass(frozen=True)
class Restored(JobEvent):
    """The job goes on from a checkpoint or savepoint, at its start or after a failure."""

    kind: ClassVar[str] = "restored"
    checkpoint_id: int = 0
    savepoint: bool = False
    path: str = ""


@dataclass(frozen=True)
class ExceptionRaised(JobEvent):
    """Something has failed. Where it is not known where, operator, subtask and host are empty."""

    kind: ClassVar[str] = "exception"
    exception: str = ""
    """The name of the exception's class."""
    message: str = ""
    traceback: str = ""
    """As the user is shown it: their own frames first."""
    operator: str | None = None
    operator_uid: str | None = None
    operator_id: str | None = None
    vertex: str | None = None
    subtask: int | None = None
    host: str | None = None
    pid: int | None = None
    record: str | None = None
    """The record in work, shortened."""
    restarts: int = 0
    """How often the job had been restarted before."""
    fatal: bool = False
    """Whether the job ends by it."""


@dataclass(frozen=True)
class CheckpointTriggered(JobEvent):
    """The subtasks have taken the snapshots of a checkpoint or savepoint; their files are on their way."""

    kind: ClassVar[str] = "checkpoint-triggered"
    checkpoint_id: int = 0
    savepoint: bool = False
    subtasks: int = 0
    """How many take part."""


@dataclass(frozen=True)
class SubtaskState:
    """What one subtask of an operator has stored.

    :param state_bytes: None where it is not known how much of the subtask's file is this operator's.
    :param held_up_ms: How long the snapshot held up all operators of the subtask's level.
    """

    subtask: int
    state_bytes: int | None
    held_up_ms: int


@dataclass(frozen=True)
class OperatorState:
    """What an operator has stored, by subtask."""

    id: str
    uid: str
    subtasks: tuple[SubtaskState, ...] = ()

    @property
    def state_bytes(self) -> int:
        """Bytes of all subtasks, as far as they are known."""
        return sum(each.state_bytes or 0 for each in self.subtasks)


@dataclass(frozen=True)
class CheckpointCompleted(JobEvent):
    """A checkpoint or savepoint counts, and everything that follows it has been done.

    :param state_bytes: What it wrote.
    :param full: It stands by itself; otherwise it holds what has changed since the one before.
    """

    kind: ClassVar[str] = "checkpoint-completed"
    checkpoint_id: int = 0
    savepoint: bool = False
    path: str = ""
    triggered: int = 0
    duration_ms: int = 0
    state_bytes: int = 0
    full: bool = True
    operators: tuple[OperatorState, ...] = ()


@dataclass(frozen=True)
class CheckpointFailed(JobEvent):
    """A checkpoint or savepoint could not be completed."""

    kind: ClassVar[str] = "checkpoint-failed"
    checkpoint_id: int = 0
    savepoint: bool = False
    reason: str = ""
    triggered: int = 0
    duration_ms: int = 0


@dataclass(frozen=True)
class OperatorNumbers:
    """The numbers of one operator in one subtask since the job's (re)start; ``user``: what its functions measure."""

    uid: str
    records_in: int = 0
    records_out: int = 0
    input_watermark: int = 0
    output_watermark: int = 0
    keyed_state_entries: int = 0
    user: MetricSnapshot | dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SubtaskNumbers:
    """One subtask of a vertex. Times and bytes add up since the job's submission; the ratio is that of the last epoch.

    The chains of one level run in one task after the other: their times are those of the task.
    """

    vertex: str
    subtask: int
    host: str = ""
    pid: int = 0
    busy_ms: int = 0
    idle_ms: int = 0
    back_pressured_ms: int = 0
    busy_ratio: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    operators: tuple[OperatorNumbers, ...] = ()


@dataclass(frozen=True)
class EpochEnded(JobEvent):
    """An epoch counts. Subscribers get every one; the log keeps one in a while, and the last."""

    kind: ClassVar[str] = "epoch"
    epoch: int = 0
    restarts: int = 0
    records: int = 0
    """How many records the sources have read in it."""
    seconds: float = 0.0
    watermark: int = 0
    newest: int = 0
    """The time of about the newest record that was read."""
    checkpoint_id: int | None = None
    saturated: bool = False
    """Whether the sources had more to read than was asked of them."""
    subtasks: tuple[SubtaskNumbers, ...] = ()
    in_driver: dict[str, dict[int, Any]] = field(default_factory=dict)
    """Operator uid -> subtask -> what was measured in the driver; -1 stands for the operator's coordinator."""


@dataclass(frozen=True)
class JobEnded(JobEvent):
    """The job has ended; ``error`` says why if it did not end well."""

    kind: ClassVar[str] = "ended"
    status: str = ""
    runtime_ms: int = 0
    error: str | None = None
    accumulators: dict[str, Any] = field(default_factory=dict)
    story: str = ""
    """The last steps of the job's machine, if it failed."""


_KINDS: dict[str, type[JobEvent]] = {
    each.kind: each
    for each in (
        JobDescribed,
        StatusChanged,
        Restored,
        ExceptionRaised,
        CheckpointTriggered,
        CheckpointCompleted,
        CheckpointFailed,
        EpochEnded,
        JobEnded,
    )
}
_PARTS: dict[tuple[type[Any], str], type[Any]] = {
    (JobDescribed, "vertices"): VertexDescription,
    (VertexDescription, "operators"): OperatorDescription,
    (VertexDescription, "inputs"): VertexInput,
    (CheckpointCompleted, "operators"): OperatorState,
    (OperatorState, "subtasks"): SubtaskState,
    (EpochEnded, "subtasks"): SubtaskNumbers,
    (SubtaskNumbers, "operators"): OperatorNumbers,
}


def event_from_json(line: str | bytes) -> JobEvent | None:
    """The event in a line of a log; None if this version does not know its kind. Unknown fields are passed over."""
    raw = json.loads(line)
    cls = _KINDS.get(raw.get("event", ""))
    return None if cls is None else _made(cls, raw)


def _made(cls: type[Any], raw: dict[str, Any]) -> Any:
    known = {each.name for each in dataclasses.fields(cls)}
    values = {name: value for name, value in raw.items() if name in known}
    for name, value in values.items():
        part = _PARTS.get((cls, name))
        if part is not None:
            values[name] = tuple(_made(part, each) for each in value)
    return cls(**values)
