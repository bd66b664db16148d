"""The event log of a job, as other processes see it; and on Spark, where subtasks run elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from firesteel.connectors.datagen import RateLimiterStrategy
from firesteel.events import CheckpointCompleted, find_job_log, operator_id
from tests.features.executors import MakeEnv, on_both


def test_a_second_process_follows_a_job_until_its_end(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1, {"execution.checkpointing.interval": "50 ms", "execution.checkpointing.dir": str(tmp_path)})
    rate = RateLimiterStrategy.per_second(1000)
    env.from_data_generator(lambda n: n, count=None, rate_limiter_strategy=rate).key_by(lambda n: n % 3).reduce(
        max
    ).add_sink(lambda _: None)
    client = env.execute_async("followed")
    command = [sys.executable, "-m", "firesteel", "events", str(tmp_path), "--follow", "--json"]
    while not list(tmp_path.glob("events/*/*.jsonl")):
        assert client.get_job_status().result().name in ("CREATED", "RUNNING")
    seen: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        for line in reader.stdout:  # the job goes on while it is read; the reader ends when the job does
            seen.append(json.loads(line)["event"])
            if seen.count("checkpoint-completed") == 2 and seen[-1] == "checkpoint-completed":
                client.cancel()
    assert reader.returncode == 0
    assert (seen[0], seen[-1]) == ("job", "ended")
    assert seen.count("status") == 4


@on_both
def test_events_say_in_which_process_a_subtask_ran(make_env: MakeEnv, tmp_path: Path, executor: str) -> None:
    env = make_env(2, {"execution.checkpointing.interval": "1 ms", "execution.checkpointing.dir": str(tmp_path)})
    numbers = env.from_sequence(1, 1000).uid("numbers").key_by(lambda n: n % 5)
    numbers.reduce(lambda a, b: a + b).uid("sums").add_sink(lambda _: None)
    env.execute("logged")
    history = find_job_log(str(tmp_path)).history()
    assert history.latest_epoch is not None
    pids = {each.pid for each in history.latest_epoch.subtasks}
    assert (os.getpid() in pids) == (executor == "in-process")
    assert {each.vertex for each in history.latest_epoch.subtasks} == {operator_id("numbers"), operator_id("sums")}
    assert all(each.busy_ms >= 0 and each.host for each in history.latest_epoch.subtasks)
    assert [each for each in history.checkpoints if isinstance(each, CheckpointCompleted)]
