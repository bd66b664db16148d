"""The specification: what Flink's own tests of its CEP library expect, and what Flink finds for random patterns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from firesteel.errors import MalformedPatternException, ProgramError
from tests.unit.cep.scenarios import build, golden, run

FLINKS_TESTS = list(golden("flink_tests.jsonl.gz"))


def test_the_golden_files_have_what_they_should() -> None:
    assert len(FLINKS_TESTS) >= 240
    assert {scenario["test"].split(".")[0].split("$")[0] for scenario in FLINKS_TESTS} >= {
        "AfterMatchSkipITCase",
        "GreedyITCase",
        "GroupITCase",
        "IterativeConditionsITCase",
        "NFAITCase",
        "NFATest",
        "NotPatternITCase",
        "SameElementITCase",
        "TimesOrMoreITCase",
        "TimesRangeITCase",
        "UntilConditionITCase",
    }


@pytest.mark.feature("CE-01")
@pytest.mark.parametrize(
    "scenario", FLINKS_TESTS, ids=[f"{number}-{scenario['test']}" for number, scenario in enumerate(FLINKS_TESTS)]
)
def test_a_test_of_flink(scenario: dict[str, Any]) -> None:
    automaton = build(scenario).compile(scenario["timeouts"])
    if "error" in scenario:
        with pytest.raises(ProgramError, match="skip to"):
            run(automaton, scenario["events"])
    else:
        assert run(automaton, scenario["events"]) == scenario["steps"]


@pytest.mark.feature("CE-01")
@pytest.mark.parametrize("part", range(10))
def test_random_patterns_find_what_flink_finds(part: int) -> None:
    for number, scenario in enumerate(golden("random.jsonl.gz")):
        if number % 10 != part or "failed" in scenario:
            continue
        if "malformed" in scenario:
            with pytest.raises(MalformedPatternException):
                build(scenario).compile()
        else:
            found = run(build(scenario).compile(timeouts=True), scenario["events"])
            assert json.loads(json.dumps(found)) == scenario["steps"], json.dumps(scenario)
