"""What happened to a job: its events, their log beside the checkpoints, and what they add up to.

A second process can read the log while the job runs and afterwards::

    from firesteel.events import find_job_log

    history = find_job_log("/data/checkpoints").history()
    print(history.status, [each.message for each in history.exceptions])
"""

from __future__ import annotations

from firesteel.events.history import JobHistory
from firesteel.events.log import EventLogWriter, JobLog, find_job_log, job_logs
from firesteel.events.types import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    EpochEnded,
    ExceptionRaised,
    JobDescribed,
    JobEnded,
    JobEvent,
    OperatorDescription,
    OperatorNumbers,
    OperatorState,
    Restored,
    StatusChanged,
    SubtaskNumbers,
    SubtaskState,
    VertexDescription,
    VertexInput,
    event_from_json,
    operator_id,
)
from firesteel.events.view import JobView

__all__ = [
    "CheckpointCompleted",
    "CheckpointFailed",
    "CheckpointTriggered",
    "EpochEnded",
    "EventLogWriter",
    "ExceptionRaised",
    "JobDescribed",
    "JobEnded",
    "JobEvent",
    "JobHistory",
    "JobLog",
    "JobView",
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
    "find_job_log",
    "job_logs",
    "operator_id",
]
