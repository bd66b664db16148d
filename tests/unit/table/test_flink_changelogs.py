"""Whole changelogs of queries over time, as Flink 2.3 emits them: `make flink-goldens` asks it.

Rows come one by one, each in an epoch of its own and with its watermark. Where Flink's order depends on how its maps
are laid out (which of several partners, which of several windows that end together), the changes are compared without.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from firesteel.table.connectors import values
from firesteel.table.connectors.values import register_changes
from firesteel.testing import EPOCH_CUT, ScriptedSource, element

pytestmark = pytest.mark.feature("SQ-03")
PLACE = Path(__file__).parents[2] / "flink_goldens" / "changelogs"
FILES = {path.stem: json.loads(path.read_text()) for path in sorted(PLACE.glob("*.json"))}
CASES = [case for content in FILES.values() for case in content["cases"]]
RACES = {
    *(f"SELECT k, v, rk, w FROM lastl {kind} JOIN lastr ON k = rk" for kind in ("RIGHT", "FULL")),
    *(f"SELECT k FROM l {operator} SELECT rk FROM r" for operator in ("EXCEPT", "EXCEPT ALL", "INTERSECT ALL")),
}
"""Queries that came to other changes on Flink because one side was ahead of the other: the final table is the same."""
NULL_KEYS = "Flink joins NULL with NULL here, though NULL = NULL is not true"
DIFFERENCES = {
    "SELECT k, v, w FROM l JOIN versions FOR SYSTEM_TIME AS OF l.ts ON k = rk": NULL_KEYS,
    "SELECT k, v, w FROM l LEFT JOIN versions FOR SYSTEM_TIME AS OF l.ts ON k = rk": NULL_KEYS,
    "SELECT k, v, ts, LAG(v, 2, 0) OVER (ORDER BY ts) AS x FROM s": "Flink's job fails: a fault of its code generation",
}
"""Queries that give something else than Flink, and why."""


@cache
def _rows_one_by_one(environment: Any, changes: tuple[Any, ...]) -> Any:
    """A stream of rows, each in an epoch of its own; all queries of a job read the same."""
    script = [entry for change in changes for entry in (element(change), EPOCH_CUT)]
    return environment.from_source(ScriptedSource(script), WatermarkStrategy.no_watermarks(), "rows")


def _one_row_per_epoch(source: Any, environment: Any) -> Any:
    return _rows_one_by_one(environment, tuple(source._changes))


def rows_of(content: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    for row in content["rows"]:
        yield tuple(
            datetime.datetime.fromisoformat(value) if kind.startswith("TIMESTAMP") and value else value
            for value, (_, kind) in zip(row, content["columns"])
        )


def table(env: StreamTableEnvironment, content: dict[str, Any]) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in content["columns"])
    data = register_changes(rows_of(content))
    env.execute_sql(
        f"CREATE TEMPORARY TABLE s ({columns}, pt AS PROCTIME(), {content['watermark']}) "
        f"WITH ('connector' = 'values', 'data-id' = '{data}')"
    )
    for view in content["views"]:
        env.execute_sql(view)


@pytest.fixture(scope="module")
def ours() -> dict[str, list[str] | FiresteelError]:
    """What each query gives: all of a file in one job, which is quicker."""
    found: dict[str, list[str] | FiresteelError] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values._Values, "connect", _one_row_per_epoch)
        for content in FILES.values():
            found.update(_changes(content))
    return found


def _changes(content: dict[str, Any]) -> dict[str, list[str] | FiresteelError]:
    settings = Configuration.from_dict({"execution.target": "in-process", "parallelism.default": "1"})
    env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment(settings))
    table(env, content)
    found: dict[str, list[str] | FiresteelError] = {}
    streams = []
    for case in content["cases"]:
        try:
            stream = env.to_changelog_stream(env.sql_query(case["sql"]))
        except FiresteelError as error:
            found[case["sql"]] = error
        else:
            found[case["sql"]] = []
            streams.append(stream.map(partial(_shown, case["sql"])))
    with streams[0].union(*streams[1:]).execute_and_collect() as changes:
        for sql, change in changes:
            found[sql].append(change)  # type: ignore[union-attr]
    return found


def _shown(sql: str, row: Any) -> tuple[str, str]:
    return sql, " ".join([str(row.get_row_kind()), *map(str, row)])


def _table(changes: list[str]) -> Counter[str]:
    """The rows that are there at the end."""
    found: Counter[str] = Counter()
    for change in changes:
        found[change[3:]] += 1 if change[0] == "+" else -1
    return +found


@pytest.mark.parametrize("case", CASES, ids=[case["sql"] for case in CASES])
def test_the_changelog_is_flinks(ours: dict[str, list[str] | FiresteelError], case: dict[str, Any]) -> None:
    changes = ours[case["sql"]]
    if "error" in case:
        same = isinstance(changes, FiresteelError)
    else:
        assert isinstance(changes, list), changes
        kinds = {change[:2] for change in case["changes"]}
        if "+U" in kinds and "-U" not in kinds:  # a key makes them needless, and Flink leaves them out
            changes = [change for change in changes if not change.startswith("-U")]
        same = sorted(changes) == sorted(case["changes"])
        if case["sql"] in RACES:
            same = _table(changes) == _table(case["changes"])
        elif case in FILES["order"]["cases"]:
            same = same and (changes == case["changes"] or all(change.startswith("+I") for change in changes))
    flinks = [case["error"]] if "error" in case else case["changes"]
    assert same is (case["sql"] not in DIFFERENCES), "\n".join(["ours:", *map(str, [changes]), "Flink's:", str(flinks)])
