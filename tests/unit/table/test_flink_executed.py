"""Queries give the rows that Flink 2.3 gives: `make flink-goldens` asks it and writes tests/flink_goldens/executed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.table import TableEnvironment

PLACE = Path(__file__).parents[2] / "flink_goldens" / "executed"
FILES: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text()) for path in sorted(PLACE.glob("*.json"))}
# What Flink refuses has no answer.
CASES = [
    pytest.param(name, case, id=f"{name} {case['mode']} {case['sql'][:60]}")
    for name, content in FILES.items()
    for case in content["cases"]
    if case.get("printed")
]

# What differs, and why.
DIFFERENT: dict[str, str] = {}

_environments: dict[str, TableEnvironment] = {}


def _environment(make: Callable[..., TableEnvironment], name: str, case: dict[str, Any]) -> TableEnvironment:
    """The session of a file's tables; its queries change nothing, so they share it."""
    settings = case.get("settings", {})
    key = f"{name} {case['mode']} {settings}"
    if key not in _environments:
        env = _environments[key] = make(batch=case["mode"] == "batch")
        for option, value in settings.items():
            env.get_config().set(option, value)
        for statement in FILES[name]["tables"]:
            env.execute_sql(statement)
    return _environments[key]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_rows_are_those_of_flink(
    table_environment: Callable[..., TableEnvironment],
    capsys: pytest.CaptureFixture[str],
    name: str,
    case: dict[str, Any],
) -> None:
    _environment(table_environment, name, case).execute_sql(case["sql"]).print()
    ours, flink = capsys.readouterr().out, case["printed"]
    if case["mode"] == "batch":  # in which order the groups come is nobody's promise
        same = Counter(ours.splitlines()) == Counter(flink.splitlines())
    else:
        same = ours == flink
    assert same != (case["sql"] in DIFFERENT), f"ours:\n{ours}\nFlink's:\n{flink}"
