"""In batch mode a query gives the table with which its changelog ends in streaming mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.table import TableEnvironment

pytestmark = pytest.mark.feature("SQ-03")
VIEWS = [
    "CREATE TEMPORARY VIEW a AS "
    "SELECT * FROM (VALUES ('x', 1), ('y', 2), ('x', 3), ('z', CAST(NULL AS INT))) AS t (k, v)",
    "CREATE TEMPORARY VIEW b AS SELECT * FROM (VALUES ('x', 10), ('y', 20), ('w', 30), ('x', 10)) AS t (j, w)",
]
# The first columns of the final rows, and how often each is there.
QUERIES = {
    "SELECT COALESCE(k, j), v, w FROM a FULL JOIN b ON k = j": [
        ("w", 1), ("x", 4), ("y", 1), ("z", 1)],
    "SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE j = k AND w > v)": [("z", 1)],
    "SELECT k, (SELECT SUM(w) FROM b WHERE j = k), (SELECT COUNT(*) FROM b) FROM a": [("x", 2), ("y", 1), ("z", 1)],
    "SELECT j FROM b EXCEPT ALL SELECT k FROM a WHERE v = 1": [("w", 1), ("x", 1), ("y", 1)],
    "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM a) WHERE n <= 2": [("x", 1), ("y", 1)],
    "SELECT k, (SELECT COUNT(*) FROM b) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) "
    "WHERE n <= 1 AND k IN (SELECT j FROM b)": [("x", 1), ("y", 1)],
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY v) FROM a": [("x", 2), ("y", 1), ("z", 1)],
}  # fmt: skip


def final(env: TableEnvironment, sql: str) -> Counter[Any]:
    found: Counter[Any] = Counter()
    with env.sql_query(sql).execute().collect() as rows:
        for row in rows:
            found[tuple(row)] += 1 if str(row.get_row_kind())[0] == "+" else -1
    assert all(times >= 0 for times in found.values())
    return +found


@pytest.mark.parametrize("sql", QUERIES)
def test_the_final_rows_are_those_of_the_whole_changelog(
    table_environment: Callable[..., TableEnvironment], sql: str
) -> None:
    tables = []
    for batch in (False, True):
        env = table_environment(batch=batch)
        for view in VIEWS:
            env.execute_sql(view)
        tables.append(final(env, sql))
    assert tables[0] == tables[1]
    assert Counter(row[0] for row in tables[1].elements()) == Counter(dict(QUERIES[sql]))
