"""Formats in jobs: files there and back, messages that are malformed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import JsonRowDeserializationSchema, Row, Types, WatermarkStrategy
from firesteel.common.serialization import BulkWriterFactory
from firesteel.datastream import OutputTag
from firesteel.datastream.connectors.file_system import BulkFormat, FileSink, FileSource, StreamFormat
from firesteel.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroReaderFormat, AvroSchema
from firesteel.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from firesteel.datastream.formats.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from firesteel.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from firesteel.datastream.formats.parsing import ParseRecords
from firesteel.errors import JobFailedError, MalformedRecordError
from tests.features.executors import MakeEnv, collect, on_both

RIDE = Types.ROW_NAMED(["id", "city"], [Types.LONG(), Types.STRING()])
AVRO = AvroSchema.parse_string(
    """{"type": "record", "name": "Ride", "fields": [
        {"name": "id", "type": "long"}, {"name": "city", "type": "string"}]}"""
)
CSV = CsvSchema.builder().add_number_column("id").add_string_column("city").set_use_header().build()
DICTS = [{"id": index, "city": f"city {index}"} for index in range(20)]
ROWS = [Row(**record) for record in DICTS]

FILES: dict[str, tuple[BulkWriterFactory, Any, list[Any]]] = {
    "csv": (CsvBulkWriters.for_schema(CSV), CsvReaderFormat.for_schema(CSV), ROWS),
    "avro": (AvroBulkWriters.for_generic_record(AVRO), AvroReaderFormat(AVRO), DICTS),
    "parquet": (ParquetBulkWriters.for_row_type(RIDE), ParquetColumnarRowInputFormat(RIDE), ROWS),
    "avro-parquet": (
        AvroParquetWriters.for_generic_record(AVRO), AvroParquetReaders.for_generic_record(AVRO), DICTS,
    ),
    "orc": (OrcBulkWriters.for_row_type(RIDE), OrcColumnarRowInputFormat(RIDE), ROWS),
}  # fmt: skip


def write_files(make_env: MakeEnv, directory: Path, factory: BulkWriterFactory, records: list[Any]) -> None:
    env = make_env(2)
    env.from_collection(records).rebalance().sink_to(FileSink.for_bulk_format(str(directory), factory).build())
    env.execute("write")
    assert len([path for path in directory.rglob("*") if path.is_file() and path.name[0] not in "._"]) >= 2


def source_of(format: Any, directory: Path) -> FileSource:
    if isinstance(format, BulkFormat):
        return FileSource.for_bulk_file_format(format, str(directory)).build()
    return FileSource.for_record_stream_format(format, str(directory)).build()


@pytest.mark.parametrize("name", FILES)
def test_files_there_and_back(make_env: MakeEnv, tmp_path: Path, name: str) -> None:
    factory, format, records = FILES[name]
    write_files(make_env, tmp_path, factory, records)
    stream = make_env(2).from_source(source_of(format, tmp_path), WatermarkStrategy.no_watermarks(), name)
    assert sorted(collect(stream), key=lambda record: record["id"]) == records


@pytest.mark.feature("TY-06")
@on_both
def test_an_avro_file_reads_and_writes_back_equal(make_env: MakeEnv, tmp_path: Path) -> None:
    write_files(make_env, tmp_path / "first", AvroBulkWriters.for_generic_record(AVRO), DICTS)
    env = make_env(2)
    stream = env.create_input(AvroInputFormat(str(tmp_path / "first"), AVRO))
    sink = FileSink.for_bulk_format(str(tmp_path / "second"), AvroBulkWriters.for_generic_record(AVRO)).build()
    stream.sink_to(sink)
    env.execute("copy")
    again = collect(make_env(2).create_input(AvroInputFormat(str(tmp_path / "second"), AVRO)))
    assert sorted(again, key=lambda record: record["id"]) == DICTS


LINES = ['{"id": 1, "city": "Oslo"}', "{oops", '{"id": "x"}', '{"id": 2, "city": "Bergen"}']


def json_lines(make_env: MakeEnv, tmp_path: Path) -> Any:
    (tmp_path / "lines.json").write_text("\n".join(LINES) + "\n")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    return make_env().from_source(source, WatermarkStrategy.no_watermarks(), "lines")


def test_malformed_messages_go_to_a_side_output(make_env: MakeEnv, tmp_path: Path) -> None:
    malformed = OutputTag("malformed")
    schema = JsonRowDeserializationSchema.builder().type_info(RIDE).build()
    rows = json_lines(make_env, tmp_path).process(ParseRecords(schema, malformed))
    good = rows.map(lambda row: ("good", row))
    bad = rows.get_side_output(malformed).map(lambda pair: ("bad", pair))
    results = collect(good.union(bad))
    assert [row for kind, row in results if kind == "good"] == [Row(id=1, city="Oslo"), Row(id=2, city="Bergen")]
    set_aside = [pair for kind, pair in results if kind == "bad"]
    assert [message for message, _ in set_aside] == LINES[1:3]
    assert "id: expected Long, got 'x'" in set_aside[1][1]


def test_malformed_messages_are_left_out_or_fail_the_job(make_env: MakeEnv, tmp_path: Path) -> None:
    lenient = JsonRowDeserializationSchema.builder().type_info(RIDE).ignore_parse_errors().build()
    rows = collect(json_lines(make_env, tmp_path).process(ParseRecords(lenient)))
    assert rows == [Row(id=1, city="Oslo"), Row(id=None, city=None), Row(id=2, city="Bergen")]
    strict = JsonRowDeserializationSchema.builder().type_info(RIDE).build()
    with pytest.raises((JobFailedError, MalformedRecordError), match="cannot be read as JSON"):
        collect(json_lines(make_env, tmp_path).process(ParseRecords(strict)))
