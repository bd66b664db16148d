"""CSV messages and files as rows."""

from __future__ import annotations

import datetime
import decimal
import io
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import CsvRowDeserializationSchema, CsvRowSerializationSchema, Row, Types
from firesteel.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from firesteel.errors import ConfigurationError, MalformedRecordError, TypeMismatchError, UnsupportedError

RIDE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
Read, Write = CsvRowDeserializationSchema.Builder, CsvRowSerializationSchema.Builder


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.STRING(), 'a,"b"\nc', '"a,""b""\nc"'),
        (Types.BOOLEAN(), False, "false"),
        (Types.LONG(), -5, "-5"),
        (Types.DOUBLE(), 1e300, "1.0E300"),
        (Types.BIG_DEC(), decimal.Decimal("1E+3"), "1000"),
        (Types.SQL_DATE(), datetime.date(2020, 2, 29), "2020-02-29"),
        (Types.SQL_TIME(), datetime.time(12, 30, 1), "12:30:01"),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1, 12), '"2020-01-01 12:00:00"'),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff", "AP8="),
        (Types.BASIC_ARRAY(Types.INT()), [1, 2, 3], "1;2;3"),
        (Types.BASIC_ARRAY(Types.INT()), [], ""),
        (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]), Row(a=1, b="x"), "1;x"),
        (Types.TUPLE([Types.INT(), Types.INT()]), (1, 2), "1;2"),
        (Types.NULLABLE(Types.INT()), 5, "5"),
    ],
)
def test_every_type_goes_there_and_back(type_info: Any, value: Any, text: str) -> None:
    row_type = Types.ROW_NAMED(["v", "last"], [type_info, Types.INT()])
    message = Write(row_type).build().serialize(Row(value, 9))
    assert message.decode() == f"{text},9\n"
    assert Read(row_type).build().deserialize(message) == Row(v=value, last=9)


def test_all_settings_of_the_writer() -> None:
    row_type = Types.ROW([Types.STRING(), Types.STRING(), Types.BASIC_ARRAY(Types.INT())])
    write = Write(row_type).set_field_delimiter("|").set_quote_character("'").set_array_element_delimiter(":")
    write.set_line_delimiter("\r\n").set_null_literal("n/a")
    assert write.build().serialize(Row("a|b", None, [1, 2])) == b"'a|b'|n/a|'1:2'\r\n"
    write.disable_quote_character()
    assert write.build().serialize(Row("a|b", None, [1, 2])) == b"a|b|n/a|1:2\r\n"
    write.set_escape_character("\\").set_line_delimiter("")
    assert write.build().serialize(Row("a|b", None, [1, 2])) == b"a\\|b|n/a|1:2"


def test_all_settings_of_the_reader() -> None:
    row_type = Types.ROW([Types.STRING(), Types.STRING(), Types.BASIC_ARRAY(Types.INT())])
    read = Read(row_type).set_field_delimiter("|").set_quote_character("'").set_array_element_delimiter(":")
    schema = read.set_null_literal("n/a").set_escape_character("\\").set_allow_comments(True).build()
    assert schema.deserialize(b"'a|b'|n/a|1:2\r\n") == Row(f0="a|b", f1=None, f2=[1, 2])
    assert schema.deserialize(b"a\\|b|x|1") == Row(f0="a|b", f1="x", f2=[1])
    assert schema.deserialize(b"# a|comment") is None


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"x,Fred", "id: expected Integer, got 'x'"),
        (b"1", "expected 2 columns (id, name), got 1"),
        (b"1,a,b", "got 3"),
        (b"", "expected one line, got 0"),
        (b"1,a\n2,b", "expected one line, got 2"),
        (b'1,"a', "unexpected end of data"),
        (b"1,\xff", "utf-8"),
    ],
)
def test_a_malformed_message_fails_and_says_why(message: bytes, reason: str) -> None:
    with pytest.raises(MalformedRecordError, match="cannot be read as CSV") as failure:
        Read(RIDE).build().deserialize(message)
    assert reason in str(failure.value)


def test_ignored_parse_errors() -> None:
    schema = Read(RIDE).set_ignore_parse_errors(True).build()
    assert schema.deserialize(b"x,Fred") == Row(id=None, name="Fred")
    assert schema.deserialize(b"1") == Row(id=1, name=None)
    assert schema.deserialize(b'1,"a') is None


def test_schemas_survive_pickling() -> None:
    read: Any = pickle.loads(pickle.dumps(Read(RIDE).set_field_delimiter(";").build()))
    write: Any = pickle.loads(pickle.dumps(Write(RIDE).set_field_delimiter(";").build()))
    assert read.deserialize(write.serialize((7, "Fred"))) == Row(id=7, name="Fred")
    assert read.get_produced_type() == RIDE


def test_what_does_not_fit_is_refused() -> None:
    for record in (("x", "Fred"), (1,), 7):
        with pytest.raises(TypeMismatchError):
            Write(RIDE).build().serialize(record)
    for nested in (Types.MAP(Types.STRING(), Types.INT()), Types.LIST(Types.LIST(Types.INT()))):
        with pytest.raises(UnsupportedError, match="column 'v'"):
            Read(Types.ROW_NAMED(["v"], [nested])).build()
    with pytest.raises(ConfigurationError, match="one character"):
        Read(RIDE).set_field_delimiter("||")
    with pytest.raises(ConfigurationError, match="a line ends with"):
        Write(RIDE).set_line_delimiter("x")


# --- files --------------------------------------------------------------------------------------------


def rides() -> Any:
    return CsvSchema.builder().add_number_column("id").add_string_column("name")


def read_file(schema: CsvSchema, text: str, ignore: bool = False) -> list[Row]:
    format = CsvReaderFormat.for_schema(schema)
    if ignore:
        format = format.with_ignore_parse_errors()
    records: Iterator[Row] = format.read_records(io.BytesIO(text.encode()))
    return list(records)


def test_a_file_there_and_back() -> None:
    builder = rides().add_boolean_column("on").add_array_column("tags").add_array_column("n", ":", Types.INT())
    schema = builder.add_number_column("x", Types.DOUBLE()).set_use_header().set_strict_headers().build()
    rows = [Row(1, "a\nb", True, ["p", "q"], [1, 2], 0.5), Row(2, "", False, [], [], 1.0)]
    stream = io.BytesIO()
    writer = CsvBulkWriters.for_schema(schema).create(stream)
    for row in rows:
        writer.add_element(row)
    writer.finish()
    assert stream.getvalue().decode() == 'id,name,on,tags,n,x\n1,"a\nb",true,p;q,1:2,0.5\n2,,false,,,1.0\n'
    names = schema.row_type().get_field_names()
    assert read_file(schema, stream.getvalue().decode()) == [Row(*names)(*row) for row in rows]
    assert len(schema) == len(builder) == schema.size() == builder.size() == 6


def test_headers_comments_and_first_rows() -> None:
    text = "\ufeff# about\nid,name\n0,unit\n\n1,Fred\n# more\n2,Wilma\n"
    schema = rides().set_use_header().set_skip_first_data_row().set_allow_comments().build()
    assert read_file(schema, text) == [Row(id=1, name="Fred"), Row(id=2, name="Wilma")]
    strict = rides().set_use_header().set_strict_headers().build()
    with pytest.raises(MalformedRecordError, match="has the header name, id, expected id, name"):
        read_file(strict, "name,id\n1,Fred\n")
    assert read_file(strict, "") == []


def test_characters_and_nulls() -> None:
    schema = rides().set_column_separator(";").set_quote_char("'").set_null_value("-").set_escape_char("\\").build()
    assert read_file(schema, "1;'a;b'\r\n-;c\\;d\r3;-\n") == [
        Row(id=1, name="a;b"), Row(id=None, name="c;d"), Row(id=3, name=None)
    ]  # fmt: skip
    plain = rides().set_quote_char("'").disable_quote_char().set_escape_char("\\").disable_escape_char().build()
    assert read_file(plain, "1,'a\\'\n") == [Row(id=1, name="'a\\'")]


def test_a_line_that_cannot_be_read() -> None:
    text = "1,Fred\nx,Wilma\n3\n4,Pebbles\n"
    with pytest.raises(MalformedRecordError, match="line 2 of a CSV file cannot be read: id: expected Long, got 'x'"):
        read_file(rides().build(), text)
    assert [row.id for row in read_file(rides().build(), text, ignore=True)] == [1, 4]


def test_values_behind_the_last_column() -> None:
    with pytest.raises(MalformedRecordError, match="expected 2 columns, got 3"):
        read_file(rides().build(), "1,Fred,more\n")
    assert read_file(rides().set_any_property_name("rest").build(), "1,Fred,more\n") == [Row(id=1, name="Fred")]


def test_separators_of_arrays() -> None:
    builder = CsvSchema.builder().add_array_column("a", "|").add_array_column("b").remove_array_element_separator(1)
    assert read_file(builder.set_array_element_separator("/").build(), "1|2,3/4\n") == [Row(a=["1", "2"], b=["3", "4"])]
    assert read_file(builder.disable_array_element_separator().build(), "1|2,3/4\n") == [Row(a=["1", "2"], b=["3/4"])]


def test_columns_of_another_schema() -> None:
    builder = CsvSchema.builder().add_string_column("gone").clear_columns().add_columns_from(rides().build())
    assert repr(builder.add_string_column("more").build()) == "CsvSchema(id: Long, name: String, more: String)"


def test_wrong_schemas() -> None:
    for wrong, message in (
        (lambda: CsvSchema.builder().build(), "needs a column"),
        (lambda: rides().add_string_column("id"), "a column 'id' already"),
        (lambda: rides().add_number_column("n", Types.STRING()), "a type of numbers"),
        (lambda: rides().remove_array_element_separator(2), "there is no column 2"),
        (lambda: rides().set_strict_headers().build(), "set_use_header"),
        (lambda: rides().set_line_separator("x"), "a line ends with"),
        (lambda: CsvReaderFormat.for_schema("id,name"), "takes a CsvSchema"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ConfigurationError, match=message):
            wrong()
