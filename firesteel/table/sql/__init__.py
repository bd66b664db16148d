"""Flink's SQL: from text to a tree, and back.

>>> from firesteel.table.sql import parse_statement, unparse
>>> unparse(parse_statement("select a , b+1 from t where a>2"))
'SELECT a, b + 1 FROM t WHERE a > 2'
"""

from __future__ import annotations

from firesteel.errors import SqlParserError
from firesteel.table.sql._writing import unparse
from firesteel.table.sql.data_types import parse_data_type, to_data_type
from firesteel.table.sql.parser import (
    parse_expression,
    parse_identifier,
    parse_statement,
    parse_statements,
    parse_type,
)

__all__ = [
    "SqlParserError",
    "parse_data_type",
    "parse_expression",
    "parse_identifier",
    "parse_statement",
    "parse_statements",
    "parse_type",
    "to_data_type",
    "unparse",
]
