"""``firesteel savepoint``: look through savepoints, compare and delete them."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

from firesteel.state.archive import (
    ArchivedOperator,
    ArchivedSnapshot,
    describe_snapshot,
    dispose_savepoint,
    list_snapshots,
)
from firesteel.state.store import FORMAT

__all__ = ["add_command"]

_DESCRIPTION = """\
Look through savepoints and checkpoints. Paths may be local or of any file system that pyarrow or fsspec reaches (s3://,
hdfs://, ...). Nothing of the programs that wrote them is needed or loaded.
"""
_EPILOG = """\
examples:
  firesteel savepoint list /data/savepoints
  firesteel savepoint list --json s3://bucket/savepoints
  firesteel savepoint show /data/savepoints/savepoint-1f2e3d-5a6b7c8d9e0f
  firesteel savepoint diff /data/savepoints/savepoint-1f2e3d-5a6b7c8d9e0f /data/savepoints/savepoint-1f2e3d-0a1b2c3d4e5f
  firesteel savepoint dispose /data/savepoints/savepoint-1f2e3d-5a6b7c8d9e0f
  firesteel run --from-savepoint /data/savepoints/savepoint-1f2e3d-5a6b7c8d9e0f job.py

Savepoints are made by the program that runs the job: client.trigger_savepoint(directory) and
client.stop_with_savepoint(False, directory) of the JobClient that env.execute_async() returns.
"""


def add_command(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "savepoint",
        help="look through savepoints, compare and delete them",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    below = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = below.add_parser("list", help="list what is in a directory", description="List what is in a directory.")
    listing.add_argument("directory", metavar="DIR", help="directory of savepoints, or of a job's checkpoints")
    listing.add_argument("--json", action="store_true", help="as JSON, for other programs")
    listing.set_defaults(handler=_list)
    showing = below.add_parser("show", help="show one, with its operators", description="Show one, with its operators.")
    showing.add_argument("path", metavar="PATH", help="a savepoint, or a checkpoint (.../chk-7)")
    showing.add_argument("--json", action="store_true", help="as JSON, for other programs")
    showing.set_defaults(handler=_show)
    comparing = below.add_parser("diff", help="compare two", description="Show what differs between two of them.")
    comparing.add_argument("before", metavar="BEFORE", help="a savepoint or checkpoint")
    comparing.add_argument("after", metavar="AFTER", help="another one, of the same program or of its next version")
    comparing.add_argument("--json", action="store_true", help="as JSON, for other programs")
    comparing.set_defaults(handler=_diff)
    disposing = below.add_parser("dispose", help="delete a savepoint", description="Delete a savepoint and its state.")
    disposing.add_argument("path", metavar="PATH", help="the savepoint to delete")
    disposing.set_defaults(handler=_dispose)


def _list(parsed: argparse.Namespace) -> int:
    snapshots = list_snapshots(parsed.directory)
    if parsed.json:
        print(json.dumps([_as_dict(each) for each in snapshots], indent=2))
        return 0
    if not snapshots:
        print(f"There are no savepoints or checkpoints in {parsed.directory}.")
        return 0
    rows = [("ID", "TIME (UTC)", "JOB", "KIND", "FORMAT", "SIZE")]
    rows += [
        (each.id, _time(each), each.job_name, each.kind, _format(each), _size(each.size) + _damage(each))
        for each in snapshots
    ]
    print(_table(rows))
    return 0


def _show(parsed: argparse.Namespace) -> int:
    snapshot = describe_snapshot(parsed.path)
    if parsed.json:
        print(json.dumps(_as_dict(snapshot), indent=2))
        return 0
    print(f"{snapshot.kind} {snapshot.id}")
    for name, value in (
        ("path", snapshot.path),
        ("time", f"{_time(snapshot)} UTC"),
        ("job", snapshot.job_name),
        ("format", _format(snapshot)),
        ("size", f"{_size(snapshot.size)} in {len({f for each in snapshot.operators for f in each.files})} file(s)"),
    ):
        print(f"  {name:8}{value}")
    if snapshot.missing:
        print(f"  missing {len(snapshot.missing)} file(s): no job can start from it. First: {snapshot.missing[0]}")
    rows = [("UID", "OPERATOR", "PARALLELISM", "MAX", "STATE")]
    rows += [
        (each.uid, each.name, str(each.parallelism), str(each.max_parallelism), "yes" if each.stateful else "none")
        for each in snapshot.operators
    ]
    print(f"\n{_table(rows)}")
    return 0


def _diff(parsed: argparse.Namespace) -> int:
    before, after = describe_snapshot(parsed.before), describe_snapshot(parsed.after)
    changes = _changes(before, after)
    if parsed.json:
        print(json.dumps([dict(zip(("uid", "operator", "change"), row)) for row in changes], indent=2))
        return 0
    for mark, each in (("-", before), ("+", after)):
        print(f"{mark} {each.kind} {each.id} of {each.job_name!r}, {_time(each)} UTC, {_size(each.size)}")
    if not changes:
        print("\nBoth have the same operators, with the same parallelism and the same amount of state.")
        return 0
    print(f"\n{_table([('UID', 'OPERATOR', 'CHANGE'), *changes])}")
    return 0


def _changes(before: ArchivedSnapshot, after: ArchivedSnapshot) -> list[tuple[str, str, str]]:
    """Uid and name of each operator that differs, and how."""
    old, new = ({each.uid: each for each in one.operators} for one in (before, after))
    changes = [(uid, each.name, _gone(each)) for uid, each in old.items() if uid not in new]
    changes += [(uid, each.name, "is new") for uid, each in new.items() if uid not in old]
    for uid in [uid for uid in old if uid in new]:
        told = ", ".join(_differences(old[uid], new[uid]))
        if told:
            changes.append((uid, new[uid].name, told))
    return sorted(changes)


def _gone(operator: ArchivedOperator) -> str:
    return "is gone, and its state with it" if operator.stateful else "is gone; it had no state"


def _differences(old: ArchivedOperator, new: ArchivedOperator) -> Iterator[str]:
    if old.name != new.name:
        yield f"was called {old.name!r}"
    if old.parallelism != new.parallelism:
        yield f"parallelism {old.parallelism} -> {new.parallelism}"
    if old.max_parallelism != new.max_parallelism:
        yield f"max. parallelism {old.max_parallelism} -> {new.max_parallelism}"
    if old.stateful != new.stateful:
        yield "has state now" if new.stateful else "has no state any more"
    if old.size != new.size:
        yield f"state files {_size(old.size)} -> {_size(new.size)}"


def _dispose(parsed: argparse.Namespace) -> int:
    snapshot = dispose_savepoint(parsed.path)
    print(f"Deleted savepoint {snapshot.id} of job {snapshot.job_name!r} ({_size(snapshot.size)}).")
    return 0


def _as_dict(snapshot: ArchivedSnapshot) -> dict[str, Any]:
    return {**dataclasses.asdict(snapshot), "time": f"{_time(snapshot).replace(' ', 'T')}Z"}


def _time(snapshot: ArchivedSnapshot) -> str:
    return f"{datetime.fromtimestamp(snapshot.timestamp / 1000, timezone.utc):%Y-%m-%d %H:%M:%S}"


def _format(snapshot: ArchivedSnapshot) -> str:
    return str(snapshot.format) if snapshot.format == FORMAT else f"{snapshot.format} (this version reads {FORMAT})"


def _damage(snapshot: ArchivedSnapshot) -> str:
    return f", {len(snapshot.missing)} file(s) missing" if snapshot.missing else ""


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
