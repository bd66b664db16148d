"""The state of a job in a savepoint, as plain data that does not depend on where epochs ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firesteel.state_processor import SavepointReader

SINK = "files"
"""Its state holds the names of files, which are new in every run."""


def stored_state(path: Path) -> dict[str, list[Any]]:
    """Everything that the operators and sources of a job have stored, read with the state processor.

    Lists within keyed state are sorted: how the records of two sources meet depends on the ends of epochs.
    """
    reader = SavepointReader.read(str(path))
    found: dict[str, list[Any]] = {}
    for operator in reader.operators():
        for state in operator.states:
            if operator.uid == SINK or state.kind == "timers":
                continue
            name = f"{operator.uid}: {state.kind} {state.name}"
            if state.kind in ("value", "list", "map"):
                entries = reader.keyed_state(operator.uid, state.name)
                found[name] = _sorted((key, _settled(value)) for key, value in entries)
            else:
                found[name] = _sorted(reader.operator_state(operator.uid, state.name))
        found[f"{operator.uid}: timers"] = _sorted(reader.timers(operator.uid))
    found["windows"] = _sorted(reader.window_state("windows"))
    for uid in reader.sources():
        found[f"{uid}: positions"] = _sorted(reader.source_positions(uid).items())
    return found


def _sorted(entries: Any) -> list[Any]:
    return sorted(entries, key=repr)


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        return _sorted(value.items())
    return _sorted(value) if isinstance(value, list) else value
