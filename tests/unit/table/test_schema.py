"""Schemas are declared, compared and shown as in PyFlink; the texts are Flink's."""

from __future__ import annotations

import pytest

from firesteel.errors import ConfigurationError
from firesteel.table import DataTypes, Schema


def test_a_schema_is_shown_as_flink_shows_it() -> None:
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.INT().not_null())
        .column("c", "INT NOT NULL")
        .column_by_expression("e", "c + 1")
        .column_by_metadata("m", DataTypes.STRING())
        .column_by_metadata("n", "STRING", "key", True)
        .watermark("ts", "ts - INTERVAL '5' SECOND")
        .primary_key("id", "c")
        .build()
    )
    assert str(schema).splitlines() == [
        "(",
        "  `id` INT NOT NULL,",
        "  `c` [INT NOT NULL],",
        "  `e` AS [c + 1],",
        "  `m` STRING METADATA,",
        "  `n` [STRING] METADATA FROM 'key' VIRTUAL,",
        "  WATERMARK FOR `ts` AS [ts - INTERVAL '5' SECOND],",
        "  CONSTRAINT `PK_id_c` PRIMARY KEY (`id`, `c`) NOT ENFORCED",
        ")",
    ]


def test_columns_from_fields_rows_and_other_schemas() -> None:
    fields = Schema.new_builder().from_fields(["a", "b"], [DataTypes.INT(), DataTypes.STRING()]).build()
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())])
    assert Schema.new_builder().from_row_data_type(row).build() == fields
    assert hash(Schema.new_builder().from_schema(fields).build()) == hash(fields)
    assert Schema.new_builder().from_schema(fields).primary_key_named("pk", "a").build() != fields


def test_a_comment_is_of_the_column_before_it() -> None:
    schema = Schema.new_builder().column("a", "INT").with_comment("it's").build()
    assert "`a` [INT] COMMENT 'it''s'" in str(schema)
    with pytest.raises(ConfigurationError, match="declare one first"):
        Schema.new_builder().with_comment("x")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda builder: builder.column("", "INT"), "not empty"),
        (lambda builder: builder.column("a", int), "SQL's text"),
        (lambda builder: builder.column_by_expression("a", 1), "text in SQL"),
        (lambda builder: builder.primary_key(), "at least one column"),
        (lambda builder: builder.primary_key("a").primary_key("b"), "one primary key"),
        (lambda builder: builder.from_fields(["a"], []), "as many types as names"),
        (lambda builder: builder.from_row_data_type(DataTypes.INT()), "needs a ROW"),
    ],
)
def test_what_is_wrong_is_said(build, message) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigurationError, match=message):
        build(Schema.new_builder())
