"""DataFrames as sources, without Spark: reading row groups, converting values. With Spark: tests/spark."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from firesteel.common import Row
from firesteel.connectors.arrow_rows import row_decoder
from firesteel.connectors.dataframe import DataFrameSource
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.model.source import SourceSplit
from tests.unit.connectors.driving import open_reader


def schema(**types: Any) -> dict[str, Any]:
    """A schema in the JSON form of Spark."""
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in types.items()]}


def frame(columns: dict[str, Any], master: str = "local[2]", streaming: bool = False) -> Any:
    """As much of a Spark DataFrame as the source looks at before it starts."""
    import json

    session = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
    return SimpleNamespace(
        isStreaming=streaming, sparkSession=session, schema=SimpleNamespace(json=lambda: json.dumps(columns))
    )


def decode(kind: Any, values: list[Any], arrow: pa.DataType) -> list[Any]:
    batch = pa.record_batch([pa.array(values, arrow)], names=["x"])
    return [row.x for row in row_decoder(schema(x=kind))(batch)]


def test_plain_values_come_as_they_are() -> None:
    assert decode("long", [1, None], pa.int64()) == [1, None]
    assert decode("decimal(10,2)", [decimal.Decimal("1.50")], pa.decimal128(10, 2)) == [decimal.Decimal("1.50")]
    assert decode("string collate UTF8_LCASE", ["a"], pa.string()) == ["a"]
    assert decode("date", [datetime.date(2024, 1, 2)], pa.date32()) == [datetime.date(2024, 1, 2)]
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 6)
    assert decode("timestamp_ntz", [moment], pa.timestamp("us")) == [moment]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_timestamps_are_local_times_as_in_spark(zone: str | None) -> None:
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 6, datetime.timezone.utc)
    (found,) = decode("timestamp", [moment], pa.timestamp("us", zone))
    assert found.tzinfo is None
    assert found.timestamp() == moment.timestamp()


def test_nested_values_become_rows_lists_and_dicts() -> None:
    inner = schema(a="long", b="timestamp")
    moment = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
    local = moment.astimezone().replace(tzinfo=None)
    arrow = pa.struct([("a", pa.int64()), ("b", pa.timestamp("us"))])
    assert decode(inner, [{"a": 1, "b": moment}, None], arrow) == [Row(a=1, b=local), None]
    several = {"type": "array", "elementType": inner}
    assert decode(several, [[{"a": 1, "b": None}, None]], pa.list_(arrow)) == [[Row(a=1, b=None), None]]
    mapping = {"type": "map", "keyType": "string", "valueType": inner}
    assert decode(mapping, [[("k", {"a": 2, "b": None})]], pa.map_(pa.string(), arrow)) == [{"k": Row(a=2, b=None)}]


@pytest.mark.parametrize("kind", ["variant", "interval day to second", {"type": "udt"}])
def test_types_without_a_python_value_are_an_error_before_the_job_runs(kind: Any) -> None:
    with pytest.raises(UnsupportedError, match="column 'x'"):
        DataFrameSource(frame(schema(x=kind)))


def test_refuses_frames_that_cannot_be_read() -> None:
    with pytest.raises(ConfigurationError, match="a Spark DataFrame was expected"):
        DataFrameSource([1, 2, 3])
    with pytest.raises(ConfigurationError, match="no columns"):
        DataFrameSource(frame(schema()))
    double = {"type": "struct", "fields": [{"name": "x", "type": "long"}, {"name": "x", "type": "long"}]}
    with pytest.raises(ConfigurationError, match=r"toDF"):
        DataFrameSource(frame(double))
    with pytest.raises(ConfigurationError, match="work_directory"):
        DataFrameSource(frame(schema(x="long"), master="spark://somewhere:7077"))
    with pytest.raises(ConfigurationError, match="available_now"):
        DataFrameSource(frame(schema(x="long")), available_now=True)


@pytest.mark.parametrize("max_records", [1, 10, 100_000])
def test_a_row_group_is_read_from_any_position(tmp_path: Path, max_records: int) -> None:
    path = str(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": range(30_000)}), path, row_group_size=20_000)
    source = DataFrameSource(frame(schema(x="long")))
    split = SourceSplit("a:1", {"file": path, "group": 1, "rows": 10_000})
    reader = open_reader(source)
    assert source.initial_position(split) == 0
    for position in (0, 9_000, 8_500, 9_999):
        result = reader.read(split, position, max_records, 0)
        assert result.values[0] == Row(x=20_000 + position)
        assert result.position == position + len(result.values)
        assert result.finished == (result.position == 10_000)


def test_a_row_group_is_read_to_its_end(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    parquet.write_table(pa.table({"x": range(20_000)}), path)
    split = SourceSplit("a:0", {"file": path, "group": 0, "rows": 20_000})
    reader = open_reader(DataFrameSource(frame(schema(x="long"))))
    position, values, finished = 0, [], False
    while not finished:
        result = reader.read(split, position, 3_000, 0)
        values.extend(row.x for row in result.values)
        position, finished = result.position, result.finished
    assert values == list(range(20_000))
