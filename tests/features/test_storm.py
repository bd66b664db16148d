"""Spouts and bolts of Storm run unchanged: acknowledged with the checkpoint, failed with the job, nothing lost."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import ProcessFunction
from firesteel.datastream.connectors.storm import Bolt, Spout, StormBolt, StormSpout
from firesteel.errors import ConfigurationError, JobError
from firesteel.testing import InjectedFailure, use_clock
from tests.features.executors import MakeEnv, collect
from tests.features.scripts import checkpoint_each_epoch, recovering

LINES = [f"line {number} of several" for number in range(12)]


class Lines(Spout):
    """Reads a queue that is a file, as a client of a broker would: what is not acknowledged stays in it."""

    def initialize(self, storm_conf: dict[str, Any], context: dict[str, Any]) -> None:
        self.path = Path(storm_conf["queue"])
        self.given: set[str] = set()

    def next_tuple(self) -> None:
        for line in json.loads(self.path.read_text()):
            if line not in self.given:
                self.given.add(line)
                self.emit([line], tup_id=line)
                return

    def ack(self, tup_id: str) -> None:
        left = [line for line in json.loads(self.path.read_text()) if line != tup_id]
        self.path.write_text(json.dumps(left))

    def fail(self, tup_id: str) -> None:
        with self.path.with_suffix(".failed").open("a") as failed:
            failed.write(f"{tup_id}\n")


class Split(Bolt):
    """As in Storm's word count."""

    def process(self, tup: Any) -> None:
        for word in tup.values[0].split():
            self.emit([word, 1])
        self.ack(tup)


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    path = tmp_path / "queue.json"
    path.write_text(json.dumps(LINES))
    return path


@pytest.mark.feature("CN-14")
def test_a_topology_runs_as_a_source_and_a_flat_map(make_env: MakeEnv, queue: Path) -> None:
    env = make_env(1)
    env.enable_checkpointing(10)
    lines = env.add_source(StormSpout(Lines, {"queue": str(queue)}, max_tuples=len(LINES)))
    words = lines.flat_map(StormBolt(Split), Types.TUPLE([Types.STRING(), Types.INT()]))
    found = collect(words)
    assert Counter(word for word, _ in found) == Counter(word for line in LINES for word in line.split())
    assert json.loads(queue.read_text()) == []
    assert not queue.with_suffix(".failed").exists()


class FailsOnce(ProcessFunction):
    def __init__(self, mark: Path) -> None:
        self.mark, self.seen = mark, 0

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        self.seen += 1
        if self.seen == 7 and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure("in the middle")
        yield value[0]


@pytest.mark.feature("CN-14")
def test_after_a_failure_nothing_is_lost_and_everything_is_acknowledged(
    make_env: MakeEnv, queue: Path, tmp_path: Path
) -> None:
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 2}))
    lines = env.add_source(StormSpout(Lines(), {"queue": str(queue)}, max_tuples=len(LINES)))
    with use_clock(checkpoint_each_epoch()):
        found = collect(lines.process(FailsOnce(tmp_path / "mark")))
    assert (tmp_path / "mark").exists()
    assert set(found) == set(LINES)
    assert json.loads(queue.read_text()) == []


class Refuses(Bolt):
    def process(self, tup: Any) -> None:
        self.fail(tup)


class Directs(Bolt):
    def process(self, tup: Any) -> None:
        self.emit([1], stream="errors")


@pytest.mark.parametrize(
    ("bolt", "said"), [(Refuses, r"Refuses has failed the tuple \['a'\]"), (Directs, "default stream only")]
)
def test_what_a_bolt_cannot_do_fails_the_job(make_env: MakeEnv, bolt: Any, said: str) -> None:
    stream = make_env(1).from_collection(["a"], Types.STRING()).flat_map(StormBolt(bolt), Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(JobError, match=said):
        collect(stream)


def test_what_is_no_component_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="a method next_tuple"):
        StormSpout(Split)
    with pytest.raises(ConfigurationError, match="a method process"):
        StormBolt(5)
