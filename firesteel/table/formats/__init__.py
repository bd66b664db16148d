"""Formats of tables: how rows are written as lines and read from them."""

from firesteel.table.formats.base import LineFormat, LineReader, LineWriter, find_format

__all__ = ["LineFormat", "LineReader", "LineWriter", "find_format"]
