"""print(): prefixes, labels, and how records look."""

from __future__ import annotations

import datetime
import pickle
import re
from typing import Any

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.common.typeinfo import ExternalTypeInfo
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream._internal.driver_sinks import PrintSink
from firesteel.datastream._internal.formatting import LineFormat
from firesteel.errors import TypeMismatchError
from tests.unit.datastream.recording import RecordingExecutor


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"),
    [
        (None, 1, "x\n"),
        (None, 4, "3> x\n"),
        ("label", 1, "label> x\n"),
        ("label", 4, "label:3> x\n"),
    ],
)
@pytest.mark.feature("SS-08")
def test_lines_begin_with_label_and_subtask(
    capsys: pytest.CaptureFixture[str], identifier: str | None, parallelism: int, line: str
) -> None:
    sink = PrintSink(identifier, to_stderr=False)
    sink.parallelism = parallelism
    sink.accept(2, ["x"])
    assert capsys.readouterr() == (line, "")


def test_print_to_err_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    PrintSink(None, to_stderr=True).accept(0, ["1", "2"])
    assert capsys.readouterr() == ("", "1\n2\n")


class Person:
    def __str__(self) -> str:
        return "Fred: age 35"


PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
ROW = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
WIDE = Types.ROW([Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.BOOLEAN()), PAIR, Types.STRING()])


@pytest.mark.parametrize(
    ("declared", "record", "text"),
    [
        (None, Person(), "Fred: age 35"),
        (None, (1, "a"), "(1, 'a')"),
        (None, None, "None"),
        (None, Row(id=1, name="a"), "Row(id=1, name='a')"),
        (Types.STRING(), "a", "a"),
        (Types.BOOLEAN(), True, "true"),
        (Types.DOUBLE(), 1e10, "1.0E10"),
        (Types.DOUBLE(), 3, "3.0"),
        (Types.FLOAT(), 0.1, "0.1"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab\xff", "[97, 98, -1]"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, "{a=1}"),
        (Types.LIST(Types.STRING()), ["a", None], "[a, null]"),
        (Types.LIST(Types.LIST(Types.DOUBLE())), [[1e10], []], "[[1.0E10], []]"),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2018, 3, 11, 3), "2018-03-11 03:00:00.0"),
        (Types.SQL_TIME(), datetime.time(12, 0, 0, 123000), "12:00:00"),
        (Types.SQL_DATE(), datetime.date(2014, 9, 13), "2014-09-13"),
        (Types.NULLABLE(Types.BOOLEAN()), None, "null"),
        (ExternalTypeInfo(Types.BOOLEAN()), False, "false"),
        (Types.PICKLED_BYTE_ARRAY(), [True, None], "[True, None]"),
        (PAIR, (1, "a"), "(1,a)"),
        (ROW, Row(id=1, name="a"), "+I[1, a]"),
        (ROW, Row(name="a", id=1), "+I[1, a]"),
        (ROW, {"id": 1}, "+I[1, null]"),
        (ROW, (1, "a"), "+I[1, a]"),
        (ROW, Row.of_kind(RowKind.DELETE, 1, "a"), "-D[1, a]"),
        (WIDE, ([1, 2], {"k": True}, (1, "a"), None), "+I[[1, 2], {k=true}, (1,a), null]"),
        (Types.ROW([ROW]), Row(Row(1, "b")), "+I[+I[1, b]]"),
    ],
)
def test_records_look_as_in_flink(declared: Any, record: Any, text: str) -> None:
    assert LineFormat(declared, "print()")(record) == text


def test_a_format_travels_to_the_workers_after_it_was_used() -> None:
    line_format = LineFormat(PAIR, "print()")
    assert pickle.loads(pickle.dumps(line_format))((1, "a")) == line_format((1, "a")) == "(1,a)"


@pytest.mark.feature("TY-07")
def test_a_record_that_does_not_fit_its_declared_type_is_an_error() -> None:
    with pytest.raises(TypeMismatchError, match=r"print\(\) is declared as .*f1: expected String, got 2"):
        LineFormat(PAIR, "print()")((1, 2))


@pytest.mark.feature("SS-08")
def test_the_prefix_follows_the_parallelism_of_the_sink(
    env: StreamExecutionEnvironment, executor: RecordingExecutor, capsys: pytest.CaptureFixture[str]
) -> None:
    executor.deliver = ["x"]
    stream = env.from_elements("x")
    stream.print()
    stream.print("one").set_parallelism(1)
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch("[12]> x", lines[0])
    assert lines[1] == "one> x"
