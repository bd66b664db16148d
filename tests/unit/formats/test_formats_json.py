"""JSON messages as rows."""

from __future__ import annotations

import datetime
import decimal
import pickle
from typing import Any

import pytest

from firesteel.common import JsonRowDeserializationSchema, JsonRowSerializationSchema, Row, Types
from firesteel.common.time import Instant
from firesteel.errors import ConfigurationError, MalformedRecordError, TypeMismatchError, UnsupportedError

RIDE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def reader(type_info: Any = RIDE) -> JsonRowDeserializationSchema:
    return JsonRowDeserializationSchema.builder().type_info(type_info).build()


def writer(type_info: Any = RIDE) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(type_info).build()


VALUES = [
    (Types.STRING(), 'a "quote" ü \n', r'"a \"quote\" ü \n"'),
    (Types.CHAR(), "x", '"x"'),
    (Types.BOOLEAN(), True, "true"),
    (Types.BYTE(), -128, "-128"),
    (Types.LONG(), 2**63 - 1, "9223372036854775807"),
    (Types.DOUBLE(), 0.1, "0.1"),
    (Types.DOUBLE(), float("inf"), '"Infinity"'),
    (Types.BIG_INT(), 10**40, "1" + "0" * 40),
    (Types.BIG_DEC(), decimal.Decimal("0.12345678901234567890"), "0.12345678901234567890"),
    (Types.SQL_DATE(), datetime.date(2020, 2, 29), '"2020-02-29"'),
    (Types.SQL_TIME(), datetime.time(12, 30), '"12:30:00Z"'),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1, 12, 0, 0, 500_000), '"2020-01-01T12:00:00.500000Z"'),
    (Types.INSTANT(), Instant(1, 5_000_000), '"1970-01-01T00:00:01.005Z"'),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff", '"AP8="'),
    (Types.LIST(Types.INT()), [1, None, 3], "[1,null,3]"),
    (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1, "b": None}, '{"a":1,"b":null}'),
    (Types.MAP(Types.INT(), Types.STRING()), {1: "x"}, '{"1":"x"}'),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "x"), '[1,"x"]'),
    (Types.ROW_NAMED(["x"], [Types.LIST(Types.ROW_NAMED(["y"], [Types.INT()]))]), Row(x=[Row(y=1)]), '{"x":[{"y":1}]}'),
    (Types.NULLABLE(Types.INT()), 5, "5"),
    (Types.PICKLED_BYTE_ARRAY(), {"any": [1, "x"]}, '{"any":[1,"x"]}'),
]


@pytest.mark.parametrize(("type_info", "value", "text"), VALUES, ids=lambda part: str(part)[:30])
def test_every_type_goes_there_and_back(type_info: Any, value: Any, text: str) -> None:
    row_type = Types.ROW_NAMED(["v", "w"], [type_info, Types.STRING()])
    message = writer(row_type).serialize(Row(value, None))
    assert message.decode() == f'{{"v":{text},"w":null}}'
    assert reader(row_type).deserialize(message) == Row(v=value, w=None)


@pytest.mark.parametrize(
    ("type_info", "text", "value"),
    [
        (Types.INT(), '"7"', 7),
        (Types.INT(), "7.0", 7),
        (Types.DOUBLE(), "7", 7.0),
        (Types.DOUBLE(), '"7.5"', 7.5),
        (Types.BOOLEAN(), '"TRUE"', True),
        (Types.STRING(), "7", "7"),
        (Types.STRING(), '{"a": [true]}', '{"a":[true]}'),
        (Types.BIG_DEC(), "7", decimal.Decimal(7)),
        (Types.SQL_TIMESTAMP(), '"2020-01-01T12:00:00+02:00"', datetime.datetime(2020, 1, 1, 10)),
        (Types.SQL_TIMESTAMP(), '"2020-01-01 12:00:00"', datetime.datetime(2020, 1, 1, 12)),
    ],
)
def test_other_forms_are_read_too(type_info: Any, text: str, value: Any) -> None:
    found = reader(Types.ROW_NAMED(["v"], [type_info])).deserialize(f'{{"v": {text}}}'.encode())
    assert found == Row(v=value) and type(found.v) is type(value)


MALFORMED = [
    (b"{", "Expecting property name"),
    (b"\xff", "utf-8"),
    (b"[1]", "expected an object with the fields id, name"),
    (b'{"id": "x"}', "id: expected Integer, got 'x'"),
    (b'{"id": true}', "id: expected Integer, got True"),
    (b'{"id": 2147483648}', "id: expected Integer"),
    (b'{"id": 1.5}', "id: expected Integer, got '1.5'"),
]


@pytest.mark.parametrize(("message", "reason"), MALFORMED)
def test_a_malformed_message_fails_and_says_why(message: bytes, reason: str) -> None:
    with pytest.raises(MalformedRecordError, match="cannot be read as JSON") as failure:
        reader().deserialize(message)
    assert reason in str(failure.value)


def test_the_place_inside_the_message_is_named() -> None:
    row_type = Types.ROW_NAMED(["a"], [Types.LIST(Types.ROW_NAMED(["b"], [Types.MAP(Types.STRING(), Types.INT())]))])
    with pytest.raises(MalformedRecordError, match=r"a\[1\]\.b\['k'\]: expected Integer"):
        reader(row_type).deserialize(b'{"a": [{"b": {}}, {"b": {"k": "x"}}]}')


def test_ignored_parse_errors_leave_out_messages_and_empty_fields() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(RIDE).ignore_parse_errors().build()
    assert schema.deserialize(b"{") is None
    assert schema.deserialize(b"[1]") is None
    assert schema.deserialize(b'{"id": "x", "name": "Fred"}') == Row(id=None, name="Fred")


def test_missing_and_unknown_fields() -> None:
    assert reader().deserialize(b'{"name": "Fred", "more": 1}') == Row(id=None, name="Fred")
    strict = JsonRowDeserializationSchema.builder().type_info(RIDE).fail_on_missing_field().build()
    assert strict.deserialize(b'{"id": null, "name": "Fred"}') == Row(id=None, name="Fred")
    with pytest.raises(MalformedRecordError, match="id: there is no such field"):
        strict.deserialize(b'{"name": "Fred"}')


@pytest.mark.parametrize("record", [Row(7, "Fred"), Row(name="Fred", id=7), (7, "Fred"), {"id": 7, "name": "Fred"}])
def test_records_of_any_shape_are_written(record: Any) -> None:
    assert writer().serialize(record) == b'{"id":7,"name":"Fred"}'


@pytest.mark.parametrize("record", [Row("x", "Fred"), Row(7), Row(id=7, nom="Fred"), 7, Row(2**31, "Fred")])
def test_records_that_do_not_fit_are_refused(record: Any) -> None:
    with pytest.raises(TypeMismatchError):
        writer().serialize(record)


def test_schemas_survive_pickling() -> None:
    read: Any = pickle.loads(pickle.dumps(JsonRowDeserializationSchema(RIDE, ignore_parse_errors=True)))
    write: Any = pickle.loads(pickle.dumps(writer()))
    assert read.deserialize(write.serialize(Row(7, "Fred"))) == Row(id=7, name="Fred")
    assert read.deserialize(b"{") is None
    assert read.get_produced_type() == RIDE


def test_wrong_builders() -> None:
    with pytest.raises(ConfigurationError, match=r"type_info\(\) or json_schema\(\)"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(ConfigurationError, match="with_type_info"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(ConfigurationError, match="Choose one"):
        JsonRowDeserializationSchema.builder().type_info(RIDE).fail_on_missing_field().ignore_parse_errors().build()
    with pytest.raises(ConfigurationError, match="takes a row type"):
        reader(Types.INT())
    inner = Types.ROW_NAMED(["f"], [Types.MAP(Types.TUPLE([Types.INT()]), Types.INT())])
    for build in (reader, writer):
        with pytest.raises(UnsupportedError, match=r"the (message|row)\.f"):
            build(inner)


SCHEMA = """{
  "type": "object",
  "definitions": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
  "properties": {
    "id": {"type": "integer"}, "on": {"type": "boolean"}, "at": {"type": "string", "format": "date-time"},
    "raw": {"type": "string", "contentEncoding": "base64"}, "note": {"type": ["string", "null"]},
    "points": {"type": "array", "items": {"$ref": "#/definitions/point"}},
    "pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]},
    "maybe": {"oneOf": [{"type": "null"}, {"type": "integer"}]}
  }
}"""


def test_a_json_schema_says_the_row_type() -> None:
    schema = JsonRowDeserializationSchema.builder().json_schema(SCHEMA).build()
    point = Types.ROW_NAMED(["x"], [Types.BIG_DEC()])
    assert str(schema.get_produced_type()) == str(
        Types.ROW_NAMED(
            ["id", "on", "at", "raw", "note", "points", "pair", "maybe"],
            [
                Types.BIG_INT(), Types.BOOLEAN(), Types.SQL_TIMESTAMP(), Types.PRIMITIVE_ARRAY(Types.BYTE()),
                Types.STRING(), Types.OBJECT_ARRAY(point), Types.TUPLE([Types.BIG_INT(), Types.STRING()]),
                Types.BIG_INT(),
            ],
        )
    )  # fmt: skip
    row = schema.deserialize(b'{"id": 1, "points": [{"x": 0.10}], "pair": [1, "a"], "raw": "AP8="}')
    assert row is not None
    assert (row.id, row.points, row.pair, row.raw) == (1, [Row(x=decimal.Decimal("0.10"))], (1, "a"), b"\x00\xff")


@pytest.mark.parametrize(
    ("schema", "error"),
    [
        ("{", ConfigurationError),
        ('{"type": "integer"}', ConfigurationError),
        ('{"properties": {"a": {"type": "array"}}}', ConfigurationError),
        ('{"properties": {"a": {"$ref": "#/nowhere"}}}', ConfigurationError),
        ('{"properties": {"a": {"$ref": "http://else"}}}', UnsupportedError),
        ('{"properties": {"a": {"$ref": "#"}}}', UnsupportedError),
        ('{"properties": {"a": {"anyOf": []}}}', UnsupportedError),
        ('{"properties": {"a": {"type": ["string", "integer"]}}}', UnsupportedError),
        ('{"properties": {"a": {"type": "file"}}}', UnsupportedError),
    ],
)
def test_json_schemas_without_a_row_type(schema: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        JsonRowDeserializationSchema.builder().json_schema(schema)
