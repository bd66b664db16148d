"""CSV messages and files."""

from firesteel.common.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from firesteel.connectors.files.csv_files import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
