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
_COLLECT = "the order in which the elements of a multiset are written is that of a hash table"
_DEVIATION = "Flink divides whole numbers within the computation, we only round its result"
# What differs, and why: by mode and query.
DIFFERENT: dict[str, str] = {
    "streaming SELECT shop, COLLECT(item) AS items FROM orders GROUP BY shop": _COLLECT,
    "batch SELECT shop, COLLECT(item) AS items FROM orders GROUP BY shop": _COLLECT,
    "streaming SELECT item, STDDEV_SAMP(amount) AS ss, VAR_SAMP(amount) AS vs FROM orders GROUP BY item": _DEVIATION,
    "batch SELECT item, STDDEV_SAMP(amount) AS ss, VAR_SAMP(amount) AS vs FROM orders GROUP BY item": _DEVIATION,
    "streaming SELECT COUNT(*) AS n FROM orders WHERE FALSE": "Flink knows without running that there are no rows",
    "streaming SELECT shop FROM (SELECT shop, COUNT(*) AS n FROM orders GROUP BY shop)": (
        "Flink leaves out the count that nobody reads, and its updates with it; the final rows are the same"
    ),
}
# What we refuse, and why.
REFUSED = {
    "SELECT x, COUNT(*) FROM (SELECT CASE WHEN k = 2 THEN 1e0 ELSE CAST('NaN' AS DOUBLE) END AS x FROM stars) "
    "GROUP BY x": "NaN cannot be a key of the engine"
}
# What Flink refuses has no answer.
CASES = [
    pytest.param(name, case, id=f"{name} {case['mode']} {case['sql'][:60]}")
    for name, content in FILES.items()
    for case in content["cases"]
    if case.get("printed") and case["sql"] not in REFUSED
]

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


def _final(printed: str) -> Counter[str]:
    """The rows that the changes leave."""
    rows: Counter[str] = Counter()
    for line in printed.splitlines():
        kind, row = line[2:4], line[5:]
        if kind in ("+I", "+U"):
            rows[row] += 1
        elif kind in ("-U", "-D"):
            rows[row] -= 1
    return +rows


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
    elif "UNION" in case["sql"]:  # nor which of two inputs comes first
        same = _final(ours) == _final(flink)
    else:
        same = ours == flink
    assert same != (f"{case['mode']} {case['sql']}" in DIFFERENT), f"ours:\n{ours}\nFlink's:\n{flink}"
