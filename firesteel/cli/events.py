"""``firesteel events``: what happened to a job, from its log, while it runs and afterwards."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from typing import Any

from firesteel.events import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    EpochEnded,
    ExceptionRaised,
    JobDescribed,
    JobEnded,
    JobEvent,
    Restored,
    StatusChanged,
    find_job_log,
    job_logs,
)

__all__ = ["add_command"]

_DESCRIPTION = """\
Show what happened to a job: statuses, exceptions, checkpoints, numbers of its subtasks. Jobs write it beside their
checkpoints (execution.checkpointing.dir), or where firesteel.events.dir says. It can be read while the job runs.
"""
_EPILOG = """\
examples:
  firesteel events /data/checkpoints              the newest job, from its beginning
  firesteel events /data/checkpoints --follow     and go on as long as it runs
  firesteel events /data/checkpoints --list       all jobs that have a log there
  firesteel events s3://bucket/chk --job 1f2e --json
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "events",
        help="show what happened to a job",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", metavar="DIR", help="directory of the job's checkpoints, or firesteel.events.dir")
    parser.add_argument("--job", metavar="ID", help="another job than the newest: the beginning of its id is enough")
    parser.add_argument("--follow", action="store_true", help="go on until the job has ended")
    parser.add_argument("--list", action="store_true", help="list the jobs that have a log")
    parser.add_argument("--json", action="store_true", help="one JSON object per line, for other programs")
    parser.set_defaults(handler=_events)


def _events(parsed: argparse.Namespace) -> int:
    if parsed.list:
        return _list(parsed.directory)
    found = find_job_log(parsed.directory, parsed.job)
    for event in found.follow() if parsed.follow else found.events():
        print(event.to_json() if parsed.json else _line(event), flush=True)
    return 0


def _list(directory: str) -> int:
    for each in job_logs(directory):
        history = each.history()
        job = history.job
        assert job is not None
        print(f"{each.job_id}  {_time(job.time)}  {history.status.name:10}  {job.name}")
    return 0


def _line(event: JobEvent) -> str:
    return f"{_time(event.time)}  {_text(event)}"


def _time(timestamp: int) -> str:
    moment = datetime.fromtimestamp(timestamp / 1000, timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{timestamp % 1000:03d}"


def _text(event: JobEvent) -> str:
    if isinstance(event, JobDescribed):
        vertices = ", ".join(f"{each.name} ({each.parallelism})" for each in event.vertices)
        return f"job {event.name!r} {event.job_id} on {event.host}: {vertices}"
    if isinstance(event, StatusChanged):
        return f"{event.status}" + (f", restarts: {event.restarts}" if event.restarts else "")
    if isinstance(event, Restored):
        return f"goes on from {_kind(event.savepoint)} {event.checkpoint_id} in {event.path}"
    if isinstance(event, ExceptionRaised):
        return _exception(event)
    if isinstance(event, CheckpointTriggered):
        return f"{_kind(event.savepoint)} {event.checkpoint_id} by {event.subtasks} subtasks"
    if isinstance(event, CheckpointCompleted):
        size = f"{event.state_bytes:,} bytes in {event.duration_ms:,} ms, {'full' if event.full else 'changes'}"
        return f"{_kind(event.savepoint)} {event.checkpoint_id} is complete: {size}, {event.path}"
    if isinstance(event, CheckpointFailed):
        return f"{_kind(event.savepoint)} {event.checkpoint_id} failed: {event.reason}"
    if isinstance(event, EpochEnded):
        busiest = max((each.busy_ratio for each in event.subtasks), default=0.0)
        return f"epoch {event.epoch}: {event.records:,} records in {event.seconds:.2f} s, busiest {busiest:.0%}"
    assert isinstance(event, JobEnded)
    headline = "" if event.error is None else ": " + event.error.partition("\n")[0]
    return f"ended {event.status} after {event.runtime_ms / 1000:,.1f} s{headline}"


def _exception(event: ExceptionRaised) -> str:
    where = "" if event.operator is None else f" in {event.operator!r}"
    where += "" if event.subtask is None else f", subtask {event.subtask} on {event.host}"
    ends = "; the job ends by it" if event.fatal else ""
    return f"{event.exception}: {event.message.partition(chr(10))[0]}{where}{ends}"


def _kind(savepoint: bool) -> str:
    return "savepoint" if savepoint else "checkpoint"
