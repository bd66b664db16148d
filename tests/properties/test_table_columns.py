"""An expression gives the same for a batch of columns as row by row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.table import DataTypes as T
from firesteel.table.column_evaluation import column_evaluator
from firesteel.table.evaluation import evaluator
from firesteel.table.from_sql import expression_of
from firesteel.table.resolution import resolve
from firesteel.table.sql import parse_expression
from firesteel.table.types import create_arrow_schema

FIELDS = [
    T.FIELD("i", T.INT()),
    T.FIELD("y", T.TINYINT()),
    T.FIELD("l", T.BIGINT()),
    T.FIELD("d", T.DOUBLE()),
    T.FIELD("f", T.FLOAT()),
    T.FIELD("s", T.STRING()),
    T.FIELD("b", T.BOOLEAN()),
]
SCHEMA = create_arrow_schema([field.name for field in FIELDS], [field.data_type for field in FIELDS])
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**31), 2**31 - 1),
        st.none() | st.integers(-128, 127),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(width=64),
        st.none() | st.floats(width=32),
        st.none() | st.text(max_size=5),
        st.none() | st.booleans(),
    ),
    max_size=8,
)
EXPRESSIONS = [
    "i + y",
    "l * 3 - i",
    "y * y",
    "d + i",
    "f * f",
    "d - f",
    "i < l",
    "d >= f",
    "y <> i",
    "s = s",
    "b AND i > 0 OR NOT b",
    "s IS NULL",
    "i + 1 IS NOT NULL",
    "CHAR_LENGTH(s) > y",
    "b = TRUE",
]


TYPED = {text: resolve(expression_of(parse_expression(text)), FIELDS) for text in EXPRESSIONS}
BY_ROW = {text: evaluator(typed) for text, typed in TYPED.items()}
BY_COLUMN = {text: column_evaluator(typed) for text, typed in TYPED.items()}


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows)) if rows else [()] * len(FIELDS)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, SCHEMA)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


@given(rows=ROWS)
def test_columns_give_what_rows_give(rows: list[tuple[Any, ...]]) -> None:
    batch = _batch(rows)
    for text, by_column in BY_COLUMN.items():
        assert by_column is not None
        # By repr, for NaN is not equal to itself, and 0.0 is equal to -0.0.
        expected = [repr(BY_ROW[text](row)) for row in rows]
        assert (text, list(map(repr, by_column(batch).to_pylist()))) == (text, expected)


@pytest.mark.parametrize(
    "text", ["UPPER(s)", "i / 2", "s LIKE 'a%'", "CAST(i AS STRING) = s", "s < CAST('m' AS STRING)"]
)
def test_what_has_no_kernel_says_so(text: str) -> None:
    assert column_evaluator(resolve(expression_of(parse_expression(text)), FIELDS)) is None
