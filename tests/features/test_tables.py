"""Tables and SQL on both executors: checkpoints, crashes, and streams beside tables."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.types import Row
from firesteel.table import StreamTableEnvironment
from firesteel.testing import CRASH, EPOCH_CUT, use_clock
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

ORDERS = Types.ROW_NAMED(["shop", "amount"], [Types.STRING(), Types.INT()])
SCRIPT = [("a", 3), ("b", 5), EPOCH_CUT, ("a", 4), CRASH, ("b", 2), EPOCH_CUT, ("a", 3), ("c", 1)]
QUERY = """
    SELECT shop, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS most, COUNT(DISTINCT amount) AS different
    FROM orders GROUP BY shop
"""


def final(changes: list[Row]) -> list[tuple[Any, ...]]:
    """The table that a changelog leaves; what it takes back must have been there."""
    rows: list[tuple[Any, ...]] = []
    for change in changes:
        if str(change.get_row_kind()) in ("+I", "+U"):
            rows.append(tuple(change))
        else:
            rows.remove(tuple(change))
    return sorted(rows)


@pytest.mark.feature("TA-01", "SQ-01")
@on_both
def test_groups_survive_a_crash(make_env: MakeEnv) -> None:
    env = recovering(make_env(2))
    tables = StreamTableEnvironment.create(env)
    orders = scripted(env, [row if row in (EPOCH_CUT, CRASH) else Row(*row) for row in SCRIPT])
    tables.create_temporary_view("orders", orders.map(lambda row: row, output_type=ORDERS))
    with use_clock(checkpoint_each_epoch()):
        changes = collect(tables.to_changelog_stream(tables.sql_query(QUERY)))
    assert final(changes) == [("a", 3, 10, 4, 2), ("b", 2, 7, 5, 2), ("c", 1, 1, 1, 1)]
