"""Avro messages and files. Need fastavro: ``pip install firesteel[avro]``."""

from firesteel.common.formats.avro_rows import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from firesteel.connectors.files.avro import AvroBulkWriters, AvroInputFormat, AvroReaderFormat

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroReaderFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]
