"""Streams that follow a script, and environments that recover."""

from __future__ import annotations

import itertools
from typing import Any

from firesteel.common import RestartStrategies, WatermarkStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.state.store import CheckpointStore
from firesteel.testing import ManualClock, ScriptedSource


def scripted(env: StreamExecutionEnvironment, *scripts: list[Any], clock: ManualClock | None = None) -> DataStream:
    """A stream with one subtask per script."""
    source = ScriptedSource(*scripts, clock=clock)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "script")
    return stream.set_parallelism(len(scripts))


def recovering(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    """Let jobs take a checkpoint every 10 ms and start again at once when they fail."""
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(10, 0))
    return env


def checkpoint_each_epoch() -> Any:
    """A clock that moves on whenever it is read: with :func:`recovering`, every epoch ends with a checkpoint."""
    return itertools.count(0, 10).__next__


def checkpointed_state(directory: str, name: str) -> list[list[dict[str, Any]]]:
    """For each checkpoint that is kept and has the state table ``name``: the changes it is made of, oldest first."""
    store = CheckpointStore(directory)
    found = []
    for checkpoint_id in store.checkpoint_ids():
        manifest = store.read_checkpoint(checkpoint_id)
        changes = [
            keyed[name][2]
            for uid, files in manifest.operators.items()
            for subtask in range(files.parallelism)
            for keyed in store.load(manifest, [uid], subtask, files.parallelism)[uid].keyed
            if name in keyed
        ]
        if changes:
            found.append(changes)
    return found
