"""Runs the scenarios in the YAML files of this folder on every executor.

A scenario names a program (programs.py), its input and the output it has to give::

    - scenario: a timer fires at the first watermark that reaches it
      program: timers
      input:
        - {record: [a, register-event, 100], at: 0}
        - {watermark: 100}
      output:
        - [a, 100, EVENT_TIME]

Steps are ``record`` (with its timestamp ``at``, if it has one), ``watermark``, ``processing-time``, ``cut`` (between
two epochs), ``crash``, ``idle`` and ``active``. ``input`` is one stream with one subtask; ``inputs`` is a list of
streams, ``subtasks`` instead of a list of steps makes a stream with several; ``cuts matter: true`` where the epochs of
several scripts have to go together as written. The output is in order where everything runs in one subtask (main
output and side output each); elsewhere only what belongs to one key, the first field, has an order.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from firesteel.common import Configuration, RestartStrategies, WatermarkStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.testing import (
    ACTIVE,
    CRASH,
    EPOCH_CUT,
    IDLE,
    ManualClock,
    ScriptedSource,
    element,
    processing_time,
    use_clock,
    watermark,
)
from tests.transcripts.programs import PROGRAMS

SIGNS = {"cut": EPOCH_CUT, "crash": CRASH, "idle": IDLE, "active": ACTIVE}
SCENARIOS = [
    pytest.param(scenario, id=f"{path.stem}: {scenario['scenario']}")
    for path in sorted(Path(__file__).parent.glob("*.yaml"))
    for scenario in yaml.safe_load(path.read_text(encoding="utf-8"))
]


def step(written: Any) -> Any:
    """A step of a script, from the way it is written in YAML."""
    match written:
        case str():
            return SIGNS[written]
        case {"record": value, **rest}:
            assert set(rest) <= {"at"}, f"a record has nothing but a timestamp: {written}"
            return element(value, rest.get("at"))
        case {"watermark": timestamp}:
            return watermark(timestamp)
        case {"processing-time": now}:
            return processing_time(now)
    raise AssertionError(f"not a step: {written!r}")


def scripts(written: Any, cut_everywhere: bool) -> list[list[Any]]:
    """The scripts of one input, by subtask."""
    subtasks = written["subtasks"] if isinstance(written, dict) else [written]
    read = [[step(each) for each in subtask] for subtask in subtasks]
    if not cut_everywhere:
        return read
    return [[piece for each in script for piece in (each, EPOCH_CUT)] for script in read]


def run(scenario: dict[str, Any], env: StreamExecutionEnvironment, cut_everywhere: bool) -> list[Any]:
    inputs = scenario["inputs"] if "inputs" in scenario else [scenario["input"]]
    recovers = "crash" in str(inputs)
    moves_clock = "processing-time" in str(inputs)
    clock = ManualClock()
    if recovers:
        env.enable_checkpointing(10)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    streams: list[DataStream] = []
    for written in inputs:
        source = ScriptedSource(*scripts(written, cut_everywhere), clock=clock)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "input")
        streams.append(stream.set_parallelism(len(scripts(written, cut_everywhere))))
    results = PROGRAMS[scenario["program"]](*streams)
    # Without processing time in the script every epoch may end with a checkpoint: the clock moves by itself.
    every_epoch = itertools.count(0, 10).__next__
    with use_clock(every_epoch if recovers and not moves_clock else clock), results.execute_and_collect() as collected:
        return list(collected)


def by_key(output: list[Any]) -> dict[Any, list[Any]]:
    grouped: dict[Any, list[Any]] = {}
    for result in output:
        grouped.setdefault(result[0], []).append(result)
    return grouped


def main_and_side(output: list[Any]) -> tuple[list[Any], list[Any]]:
    late = [result for result in output if result[0] == "late"]
    return [result for result in output if result not in late], late


def environment(target: str, parallelism: int, session: Any = None, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"execution.target": target, **options})
    return StreamExecutionEnvironment.get_execution_environment(configuration, session).set_parallelism(parallelism)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_in_one_subtask_the_output_is_exactly_as_written(scenario: dict[str, Any]) -> None:
    output = run(scenario, environment("in-process", 1), cut_everywhere=False)
    assert main_and_side(output) == main_and_side(scenario["output"])


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_in_process(scenario: dict[str, Any], parallelism: int) -> None:
    output = run(scenario, environment("in-process", parallelism), cut_everywhere=False)
    assert by_key(output) == by_key(scenario["output"])


@pytest.mark.feature("RT-06")
@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_with_direct_exchange(scenario: dict[str, Any], parallelism: int) -> None:
    env = environment("in-process", parallelism, **{"firesteel.exchange": "direct"})
    assert by_key(run(scenario, env, cut_everywhere=False)) == by_key(scenario["output"])


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if not each.values[0].get("cuts matter")])
def test_with_an_epoch_for_each_step(scenario: dict[str, Any], parallelism: int) -> None:
    output = run(scenario, environment("in-process", parallelism), cut_everywhere=True)
    assert by_key(output) == by_key(scenario["output"])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_on_spark(scenario: dict[str, Any], spark: Any) -> None:
    output = run(scenario, environment("spark", 2, spark), cut_everywhere=False)
    assert by_key(output) == by_key(scenario["output"])


def test_every_program_has_a_scenario() -> None:
    assert {scenario.values[0]["program"] for scenario in SCENARIOS} == set(PROGRAMS)
