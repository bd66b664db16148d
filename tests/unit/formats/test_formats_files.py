"""Avro messages, and Avro, Parquet and ORC files."""

from __future__ import annotations

import datetime
import decimal
import io
import pickle
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from firesteel.common import AvroRowDeserializationSchema, AvroRowSerializationSchema, Row, Types
from firesteel.common.serialization import BulkWriterFactory
from firesteel.common.time import Instant
from firesteel.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroReaderFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from firesteel.datastream.formats.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from firesteel.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from firesteel.errors import ConfigurationError, MalformedRecordError, TypeMismatchError, UnsupportedError

UTC = datetime.timezone.utc
SCHEMA = """{
  "type": "record", "name": "Ride", "namespace": "taxi", "fields": [
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["null", "string"]},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "paid", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["CASH", "CARD"]}},
    {"name": "stops", "type": {"type": "array", "items":
      {"type": "record", "name": "Stop", "fields": [{"name": "x", "type": "double"}]}}},
    {"name": "last", "type": ["null", "Stop"]},
    {"name": "notes", "type": {"type": "map", "values": "int"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "raw", "type": {"type": "fixed", "name": "Two", "size": 2}}
  ]}"""
RECORD: dict[str, Any] = {
    "id": 7,
    "name": None,
    "at": datetime.datetime(2020, 1, 1, 12, tzinfo=UTC),
    "paid": decimal.Decimal("12.50"),
    "kind": "CARD",
    "stops": [{"x": 0.5}, {"x": 1.5}],
    "last": {"x": 2.0},
    "notes": {"a": 1},
    "day": datetime.date(2020, 2, 29),
    "raw": b"\x00\xff",
}
ROW = Row(*RECORD)(
    *{
        **RECORD,
        "at": datetime.datetime(2020, 1, 1, 12),
        "stops": [Row(x=0.5), Row(x=1.5)],
        "last": Row(x=2.0),
    }.values()
)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in another time zone."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_avro_messages_there_and_back(elsewhere: None) -> None:
    write: Any = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=SCHEMA)))
    read: Any = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=SCHEMA)))
    assert read.deserialize(write.serialize(ROW)) == ROW
    assert read.deserialize(write.serialize(RECORD)) == ROW
    assert read.get_produced_type().check(ROW) is None


def test_a_message_is_avro_without_a_header() -> None:
    schema = (
        '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}, {"name": "s", "type": "string"}]}'
    )
    write = AvroRowSerializationSchema(avro_schema_string=schema)
    assert write.serialize(Row(-1, "ab")) == b"\x01\x04ab"  # zig-zag numbers, then length and text


def test_malformed_avro_messages() -> None:
    message = AvroRowSerializationSchema(avro_schema_string=SCHEMA).serialize(ROW)
    read = AvroRowDeserializationSchema(avro_schema_string=SCHEMA)
    for cut in (0, 1, len(message) - 1):
        with pytest.raises(MalformedRecordError, match="cannot be read as Avro"):
            read.deserialize(message[:cut])
    with pytest.raises(MalformedRecordError, match="1 bytes are left behind the record"):
        read.deserialize(message + b"x")


@dataclass
class Person:
    name: str = ""
    age: int = 0
    friends: list[str] | None = None


def test_a_class_gives_the_schema() -> None:
    message = AvroRowSerializationSchema(Person).serialize(Person("Fred", 35))
    assert AvroRowDeserializationSchema(Person).deserialize(message) == Row(name="Fred", age=35, friends=None)
    with pytest.raises(UnsupportedError, match="no Java classes"):
        AvroRowDeserializationSchema("org.example.Person")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="one of the two"):
        AvroRowDeserializationSchema()
    with pytest.raises(ConfigurationError, match="the schema of a record"):
        AvroRowDeserializationSchema(avro_schema_string='"long"')


def test_a_record_inside_itself() -> None:
    schema = """{"type": "record", "name": "Node", "fields": [
        {"name": "n", "type": "int"}, {"name": "next", "type": ["null", "Node"]}]}"""
    row = Row(n=1, next=Row(n=2, next=None))
    message = AvroRowSerializationSchema(avro_schema_string=schema).serialize(row)
    assert AvroRowDeserializationSchema(avro_schema_string=schema).deserialize(message) == row
    with pytest.raises(UnsupportedError, match="holds itself"):
        AvroParquetWriters.for_generic_record(AvroSchema.parse_string(schema))


def test_records_that_do_not_fit_their_avro_schema() -> None:
    write = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
    for record in ({**RECORD, "id": "x"}, {**RECORD, "kind": "GOLD"}, Row(1), {**RECORD, "day": None}):
        with pytest.raises(TypeMismatchError):
            write.serialize(record)


def test_schemas_and_their_type(tmp_path: Path) -> None:
    (tmp_path / "ride.avsc").write_text(SCHEMA)
    schema = AvroSchema.parse_file(str(tmp_path / "ride.avsc"))
    assert schema == AvroSchema.parse_string(SCHEMA) == pickle.loads(pickle.dumps(schema))
    kind = GenericRecordAvroTypeInfo(schema)
    assert kind.check(RECORD) is None
    assert "taxi.Ride.id is <x> of type <class 'str'> expected long" in str(kind.check({**RECORD, "id": "x"}))
    assert kind == GenericRecordAvroTypeInfo(schema) and kind != GenericRecordAvroTypeInfo(AvroSchema("int"))
    for wrong in ("{", '{"type": "record"}', '{"type": "what"}'):
        with pytest.raises(ConfigurationError):
            AvroSchema.parse_string(wrong)


def test_without_fastavro_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(ConfigurationError, match=r"pip install firesteel\[avro\]"):
        AvroSchema("int")


# --- files --------------------------------------------------------------------------------------------


def written(factory: BulkWriterFactory, records: list[Any]) -> io.BytesIO:
    stream = io.BytesIO()
    writer = pickle.loads(pickle.dumps(factory)).create(stream)
    for index, record in enumerate(records):
        writer.add_element(record)
        if index == 0:
            writer.flush()
    writer.finish()
    assert not stream.closed
    stream.seek(0)
    return stream


@pytest.mark.parametrize("count", [0, 1, 30])
def test_avro_files(tmp_path: Path, count: int) -> None:
    schema = AvroSchema.parse_string(SCHEMA)
    records = [{**RECORD, "id": index} for index in range(count)]
    stream = written(AvroBulkWriters.for_generic_record(schema), records)
    assert list(AvroReaderFormat().read_records(stream)) == records

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.avro").write_bytes(stream.getvalue())
    (tmp_path / "in" / "_hidden").write_text("no Avro")
    format: Any = pickle.loads(pickle.dumps(AvroInputFormat(str(tmp_path / "in"), schema)))
    assert format.get_produced_type() == GenericRecordAvroTypeInfo(schema)
    splits = format.create_input_splits(4)
    assert len(splits) == 1
    found = []
    format.open(splits[0])
    while not format.reached_end():
        found.append(format.next_record())
    with pytest.raises(EOFError):
        format.next_record()
    format.close()
    assert found == records


def test_an_avro_file_read_with_another_schema() -> None:
    stream = written(AvroBulkWriters.for_generic_record(AvroSchema.parse_string(SCHEMA)), [RECORD])
    newer = """{"type": "record", "name": "Ride", "namespace": "taxi", "fields": [
        {"name": "id", "type": "long"}, {"name": "tip", "type": "int", "default": 0}]}"""
    assert list(AvroReaderFormat(AvroSchema.parse_string(newer)).read_records(stream)) == [{"id": 7, "tip": 0}]
    stream.seek(0)
    other = '{"type": "record", "name": "Ride", "namespace": "taxi", "fields": [{"name": "new", "type": "long"}]}'
    with pytest.raises(TypeMismatchError, match="does not fit"):
        list(AvroReaderFormat(AvroSchema.parse_string(other)).read_records(stream))
    with pytest.raises(MalformedRecordError, match="cannot be read as Avro"):
        list(AvroReaderFormat().read_records(io.BytesIO(b"not an Avro file")))


def test_avro_writers_refuse_what_does_not_fit() -> None:
    schema = AvroSchema.parse_string(SCHEMA)
    with pytest.raises(TypeMismatchError, match="does not fit the schema of its Avro file"):
        written(AvroBulkWriters.for_generic_record(schema), [{**RECORD, "id": "x"}])
    for make in (AvroBulkWriters.for_generic_record, AvroParquetReaders.for_generic_record, AvroReaderFormat):
        with pytest.raises(ConfigurationError, match="takes an AvroSchema"):
            make(SCHEMA)  # type: ignore[arg-type]


def test_avro_records_in_parquet_files() -> None:
    schema = AvroSchema.parse_string(SCHEMA)
    stream = written(AvroParquetWriters.for_generic_record(schema), [RECORD, {**RECORD, "last": None}])
    assert b"parquet.avro.schema" in pq.read_metadata(stream).metadata
    stream.seek(0)
    format: Any = pickle.loads(pickle.dumps(AvroParquetReaders.for_generic_record(schema)))
    assert list(format.read_records(stream)) == [RECORD, {**RECORD, "last": None}]
    other = AvroSchema.parse_string('{"type": "record", "name": "R", "fields": [{"name": "new", "type": "long"}]}')
    with pytest.raises(TypeMismatchError, match="has no column new"):
        list(AvroParquetReaders.for_generic_record(other).read_records(stream))


CHOICES = """{"type": "record", "name": "R", "fields": [
    {"name": "nothing", "type": "null"},
    {"name": "never", "type": ["null"]},
    {"name": "one", "type": ["int", "long", "double", "string", "boolean", "bytes", "null"]},
    {"name": "some", "type": {"type": "array", "items": ["int", "string"]}},
    {"name": "held", "type": [
        {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}, {"name": "gone", "type": "null"}]},
        {"type": "enum", "name": "E", "symbols": ["UP", "DOWN"]},
        {"type": "fixed", "name": "F", "size": 2},
        {"type": "int", "logicalType": "date"},
        {"type": "map", "values": "string"}]}
]}"""


def test_choices_and_nulls_of_avro_in_parquet_files() -> None:
    schema = AvroSchema.parse_string(CHOICES)
    ones = [1, 2**40, 0.5, "text", True, b"raw", None]
    helds = [
        {"x": 1, "gone": None},
        "UP",
        b"ab",
        datetime.date(2020, 2, 29),
        {"k": "v"},
        {"x": 2, "gone": None},
        "DOWN",
    ]
    records = [
        {"nothing": None, "never": None, "one": one, "some": [1, "a"], "held": held} for one, held in zip(ones, helds)
    ]
    stream = written(AvroParquetWriters.for_generic_record(schema), records)
    stream.seek(0)
    read = list(AvroParquetReaders.for_generic_record(schema).read_records(stream))
    assert read == records
    assert [type(record["one"]) for record in read] == [type(one) for one in ones]
    stream.seek(0)
    group = pq.read_schema(stream).field("one").type
    assert [group.field(index).name for index in range(3)] == ["member0", "member1", "member2"]


def test_a_field_that_is_always_null_may_be_missing_from_the_file() -> None:
    some = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
    more = some.replace("]}", ', {"name": "n", "type": "null"}]}')
    stream = written(AvroParquetWriters.for_generic_record(AvroSchema.parse_string(some)), [{"a": 1}])
    stream.seek(0)
    assert list(AvroParquetReaders.for_generic_record(AvroSchema.parse_string(more)).read_records(stream)) == [
        {"a": 1, "n": None}
    ]


def test_a_value_that_no_type_of_a_choice_takes_is_refused() -> None:
    schema = AvroSchema.parse_string(CHOICES)
    record = {"nothing": None, "never": None, "one": {1}, "some": [], "held": "UP"}
    with pytest.raises(TypeMismatchError, match="'one'"):
        written(AvroParquetWriters.for_generic_record(schema), [record])


ORC_TYPE = Types.ROW_NAMED(
    ["id", "name", "at", "when", "list", "map", "row"],
    [
        Types.LONG(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.DOUBLE()),
        Types.ROW_NAMED(["x"], [Types.BIG_DEC()]),
    ],
)


def orc_row(index: int) -> Row:
    moment = datetime.datetime(2020, 1, 1, 12, 0, 0, 5)
    values = (index, None, moment, Instant(1, 5), [1, None], {"a": 0.5}, Row(x=decimal.Decimal("0.5")))
    return Row(*ORC_TYPE.get_field_names())(*values)


@pytest.mark.parametrize("skip", [0, 3, 20])
def test_orc_files(elsewhere: None, skip: int) -> None:
    rows = [orc_row(index) for index in range(20)]
    factory = OrcBulkWriters.for_row_type(ORC_TYPE, {"orc.compress": "ZLIB", "orc.stripe.size": "65536"})
    stream = written(factory, rows)
    format: Any = pickle.loads(pickle.dumps(OrcColumnarRowInputFormat(ORC_TYPE)))
    assert [row for batch in format.read_batches(stream, skip) for row in batch] == rows[skip:]


def test_an_empty_orc_file() -> None:
    stream = written(OrcBulkWriters.for_row_type(ORC_TYPE), [])
    assert list(OrcColumnarRowInputFormat(ORC_TYPE).read_batches(stream, 0)) == []


def test_wrong_use_of_orc() -> None:
    with pytest.raises(ConfigurationError, match=r"orc\.what"):
        OrcBulkWriters.for_row_type(ORC_TYPE, {"orc.what": "1"})
    with pytest.raises(UnsupportedError, match="hadoop_config"):
        OrcBulkWriters.for_row_type(ORC_TYPE, hadoop_config={})
    with pytest.raises(UnsupportedError, match="time of day"):
        OrcBulkWriters.for_row_type(Types.ROW([Types.SQL_TIME()]))
    stream = written(OrcBulkWriters.for_row_type(ORC_TYPE), [orc_row(1)])
    with pytest.raises(TypeMismatchError, match="has no column new"):
        list(OrcColumnarRowInputFormat(Types.ROW_NAMED(["new"], [Types.LONG()])).read_batches(stream, 0))
