"""Tables as they are written become tables of a catalog."""

from __future__ import annotations

import pytest

from firesteel.table.catalog import CatalogBaseTable
from firesteel.table.definitions import table_of
from firesteel.table.logical import QueryError
from firesteel.table.sql import parse_statement


def _table(text: str) -> CatalogBaseTable:
    return table_of(parse_statement(text).table)  # type: ignore[attr-defined]


def test_all_kinds_of_columns_the_watermark_and_the_key_are_kept() -> None:
    table = _table(
        "CREATE TABLE orders (id BIGINT COMMENT 'the id', ts TIMESTAMP(3), m BIGINT METADATA FROM 'k' VIRTUAL, "
        "c AS id + 1, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED) "
        "COMMENT 'all' PARTITIONED BY (id) WITH ('connector' = 'datagen')"
    )
    assert str(table.get_unresolved_schema()).splitlines()[1:-1] == [
        "  `id` BIGINT NOT NULL COMMENT 'the id',",
        "  `ts` TIMESTAMP(3),",
        "  `m` BIGINT METADATA FROM 'k' VIRTUAL,",
        "  `c` AS [id + 1],",
        "  WATERMARK FOR `ts` AS [ts - INTERVAL '5' SECOND],",
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED",
    ]
    assert table.get_options() == {"connector": "datagen"}
    assert (table.get_comment(), table.get_partition_keys()) == ("all", ["id"])


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("id INT, id STRING", "A column named 'id' already exists"),
        ("id INT, PRIMARY KEY (id)", "NOT ENFORCED"),
        ("id INT, PRIMARY KEY (other) NOT ENFORCED", "'other' is not defined"),
        ("id INT, WATERMARK FOR ts AS ts", "watermark is for column 'ts', which the table does not have"),
        ("id INT, WATERMARK FOR id AS id", "it has to be TIMESTAMP"),
        ("id INT, UNIQUE (id) NOT ENFORCED", "UNIQUE constraint is not supported"),
        ("id INT, c AS nothing + 1", "there is no column 'nothing'"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(columns: str, says: str) -> None:
    with pytest.raises((QueryError, ValueError), match=says):
        _table(f"CREATE TABLE t ({columns})")
