"""What each connector promises is true: a job that fails in the middle, for every source and sink there is."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import firesteel.connectors
from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.io import InputFormat
from firesteel.connectors.collection import CollectionSource
from firesteel.connectors.dataframe import DataFrameSource
from firesteel.connectors.datagen import DataGeneratorSource
from firesteel.connectors.discarding import DiscardingSink
from firesteel.connectors.files.formats import StreamFormat
from firesteel.connectors.files.sink import FileSink, StreamingFileSink
from firesteel.connectors.files.source import FileSource
from firesteel.connectors.hybrid import HybridSource
from firesteel.connectors.input_format import InputFormatSource
from firesteel.connectors.jdbc import JdbcSink, JdbcSource
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.connectors.socket import SocketSource
from firesteel.connectors.source_function import SourceFunctionSource
from firesteel.connectors.taxi import TaxiFareSource, TaxiRideSource
from firesteel.connectors.text_file import TextFileSource
from firesteel.connectors.two_phase import TwoPhaseCommitSinkFunction
from firesteel.datastream import ProcessFunction, SinkFunction, SourceFunction
from firesteel.datastream.connectors import BucketAssigner
from firesteel.datastream.connectors.base import Sink
from firesteel.model.source import DriverSource, Source
from firesteel.testing import InjectedFailure, use_clock
from tests.features import test_delta, test_elasticsearch
from tests.features.executors import MakeEnv, collect
from tests.features.kill_points import SqliteSink, sqlite_rows
from tests.features.scripts import checkpoint_each_epoch, recovering
from tests.features.test_exactly_once import Appends, Queue, committed_files
from tests.features.test_jdbc import INSERT, database, values
from tests.services import test_kafka, test_kafka_names
from tests.spark import test_spark_sink

COUNT = 40
PAGE = Path(__file__).resolve().parents[2] / "docs" / "user-guide" / "connectors.md"
PROMISES = ("exactly-once", "at-least-once", "at-most-once", "none")


def connector_classes() -> dict[str, Any]:
    """Every public source and sink of the connectors."""
    abstract = {"Source", "DriverSource", "Sink", "IndexedSource"}
    modules = pkgutil.walk_packages(firesteel.connectors.__path__, "firesteel.connectors.")
    return {
        name: value
        for module in modules
        for name, value in vars(importlib.import_module(module.name)).items()
        if inspect.isclass(value) and issubclass(value, (Source, DriverSource, Sink))
        if not name.startswith("_") and name not in abstract
    }


class FailsOnce(ProcessFunction):
    """Fails once, in the middle of the stream."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark
        self.seen = 0

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        self.seen += 1
        if self.seen == COUNT // 2 and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure("in the middle")
        yield value


def keeps(promise: str, delivered: list[Any], expected: list[Any]) -> bool:
    """Whether what has come is what the promise allows."""
    got, wanted = Counter(map(repr, delivered)), Counter(map(repr, expected))
    return {
        "exactly-once": got == wanted,
        "at-least-once": wanted <= got and set(got) == set(wanted),
        "at-most-once": got <= wanted,
        "none": set(got) <= set(wanted),
    }[promise]


def test_promises_are_told_apart() -> None:
    cases = [[1, 2], [1, 2, 2], [1], [1, 1], [3]]
    kept = {promise: [case for case in cases if keeps(promise, case, [1, 2])] for promise in PROMISES}
    assert kept == {
        "exactly-once": [[1, 2]],
        "at-least-once": [[1, 2], [1, 2, 2]],
        "at-most-once": [[1, 2], [1]],
        "none": [[1, 2], [1, 2, 2], [1], [1, 1]],
    }


# --- sources: what they give without a failure is what is expected with one ------------------------------


def in_lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines"
    path.write_text("".join(f"{number}\n" for number in range(COUNT)))
    return path


class Restless(SourceFunction):
    """Knows nothing of checkpoints: begins anew every time."""

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        for number in range(COUNT):
            ctx.collect(number)

    def cancel(self) -> None:
        return None


def read_files(tmp_path: Path) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(in_lines(tmp_path))).build()


class Numbers(InputFormat):
    def create_input_splits(self, min_num_splits: int) -> list[range]:
        return [range(COUNT // 2), range(COUNT // 2, COUNT)]

    def open(self, split: range) -> None:
        self.left = list(split)

    def reached_end(self) -> bool:
        return not self.left

    def next_record(self) -> int:
        return self.left.pop(0)

    def close(self) -> None:
        return None


def read_table(tmp_path: Path) -> JdbcSource:
    table = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39) SELECT i AS value FROM n"
    options = database(tmp_path / "db", f"CREATE TABLE IF NOT EXISTS result AS {table}")
    query = JdbcSource.builder().set_sql("SELECT value FROM result ORDER BY value").set_connection_options(options)
    return query.set_type_information(Types.INT()).build()


SOURCES: dict[type[Any], Callable[[Path], Any]] = {
    CollectionSource: lambda path: CollectionSource(range(COUNT)),
    DataGeneratorSource: lambda path: DataGeneratorSource(lambda index: index, COUNT),
    FileSource: read_files,
    HybridSource: lambda path: (
        HybridSource.builder(read_files(path)).add_source(NumberSequenceSource(0, COUNT)).build()
    ),
    InputFormatSource: lambda path: InputFormatSource(Numbers()),
    JdbcSource: read_table,
    NumberSequenceSource: lambda path: NumberSequenceSource(0, COUNT - 1),
    SourceFunctionSource: lambda path: SourceFunctionSource(Queue(list(range(COUNT)))),
    TaxiFareSource: lambda path: TaxiFareSource(count=COUNT),
    TaxiRideSource: lambda path: TaxiRideSource(count=COUNT),
    TextFileSource: lambda path: TextFileSource(str(in_lines(path))),
}


def run(make_env: MakeEnv, source: Any, mark: Path, fail: bool) -> list[Any]:
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 3}))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "source")
    if fail:
        stream = stream.process(FailsOnce(mark))
    with use_clock(checkpoint_each_epoch()):
        return collect(stream)


@pytest.mark.feature("EO-05")
@pytest.mark.parametrize("kind", SOURCES, ids=lambda kind: kind.__name__)
def test_a_source_keeps_its_promise(make_env: MakeEnv, tmp_path: Path, kind: type[Any]) -> None:
    source = SOURCES[kind](tmp_path)
    assert isinstance(source, kind)
    expected = run(make_env, SOURCES[kind](tmp_path), tmp_path / "mark", fail=False)
    assert len(expected) >= COUNT
    delivered = run(make_env, source, tmp_path / "mark", fail=True)
    assert (tmp_path / "mark").exists()
    assert keeps(source.guarantee, delivered, expected)
    assert source.replayable == (source.guarantee == "exactly-once")


@pytest.mark.feature("EO-05")
def test_a_source_function_without_state_promises_nothing_and_does_begin_anew(
    make_env: MakeEnv, tmp_path: Path
) -> None:
    source = SourceFunctionSource(Restless(), buffer_records=3)
    assert (source.guarantee, source.replayable) == ("none", False)
    delivered = run(make_env, source, tmp_path / "mark", fail=True)
    assert keeps("none", delivered, list(range(COUNT)))
    assert not keeps("at-most-once", delivered, list(range(COUNT)))


@pytest.mark.feature("EO-05")
def test_a_socket_gives_no_record_twice(make_env: MakeEnv, tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            for part in (range(COUNT), range(COUNT, 2 * COUNT)):
                connection, _ = server.accept()
                with connection:
                    connection.sendall("".join(f"{number}\n" for number in part).encode())
                    if part.start == 0:
                        connection.recv(1)  # until the job has failed and hung up

        thread = threading.Thread(target=serve)
        thread.start()
        source = SocketSource("localhost", server.getsockname()[1])
        delivered = run(make_env, source, tmp_path / "mark", fail=True)
        thread.join()
    assert (tmp_path / "mark").exists()
    assert keeps(source.guarantee, delivered, [str(number) for number in range(2 * COUNT)])
    assert set(map(str, range(COUNT, 2 * COUNT))) <= set(delivered)


@pytest.mark.feature("EO-05")
def test_a_dataframe_gives_each_row_once(make_env: MakeEnv, spark: Any, tmp_path: Path) -> None:
    source = DataFrameSource(spark.range(COUNT).selectExpr("id", "rand() as chance"))
    delivered = run(make_env, source, tmp_path / "mark", fail=True)
    assert source.guarantee == "exactly-once"
    assert sorted(row.id for row in delivered) == list(range(COUNT))


# --- sinks ------------------------------------------------------------------------------------------------


def files(kind: type[FileSink], path: Path) -> Sink:
    builder: Any = kind.for_row_format(str(path), Encoder.simple_string_encoder())
    sink: Sink = builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    return sink


SINKS: dict[type[Any], tuple[Callable[[Path], Any], Callable[[Path], list[Any]]]] = {
    DiscardingSink: (lambda path: DiscardingSink(), lambda path: list(range(COUNT))),
    FileSink: (lambda path: files(FileSink, path), committed_files),
    JdbcSink: (lambda path: JdbcSink.sink(INSERT, Types.INT(), database(path, "CREATE TABLE result (value)")), values),
    StreamingFileSink: (lambda path: files(StreamingFileSink, path), committed_files),
    SinkFunction: (Appends, lambda path: [int(line) for line in path.read_text().splitlines()]),
    TwoPhaseCommitSinkFunction: (SqliteSink, sqlite_rows),
}


@pytest.mark.feature("EO-05")
@pytest.mark.filterwarnings("ignore:StreamingFileSink is deprecated:DeprecationWarning")
@pytest.mark.parametrize("kind", SINKS, ids=lambda kind: kind.__name__)
def test_a_sink_keeps_its_promise(make_env: MakeEnv, tmp_path: Path, kind: type[Any]) -> None:
    make, read = SINKS[kind]
    sink = make(tmp_path / "out")
    assert isinstance(sink, kind)
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 3}))
    numbers = env.from_collection(range(COUNT), Types.INT())
    numbers.add_sink(sink)
    numbers.process(FailsOnce(tmp_path / "mark")).add_sink(lambda _: None)
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert (tmp_path / "mark").exists()
    assert keeps(sink.guarantee, read(tmp_path / "out"), list(range(COUNT)))


# --- the table --------------------------------------------------------------------------------------------

PROVEN_BY_TESTS_OF_THEIR_OWN = {
    "ElasticsearchSink": test_elasticsearch.test_after_a_failure_no_document_is_missing_and_with_ids_none_is_double,
    "OpensearchSink": test_elasticsearch.test_after_a_failure_no_document_is_missing_and_with_ids_none_is_double,
    "DeltaSink": test_delta.test_each_row_is_in_the_table_once_wherever_the_job_fails,
    "DeltaSource": test_delta.test_a_source_that_fails_gives_each_row_once,
    "SparkSink": test_spark_sink.test_batches_come_once_per_checkpoint_and_to_any_format,
    "DynamicKafkaSource": test_kafka_names.test_streams_are_topics_of_the_cluster_that_the_service_knows,
    "FlinkKafkaConsumer": test_kafka_names.test_consumer_and_producer_are_killed_and_each_record_is_there_once,
    "FlinkKafkaProducer": test_kafka_names.test_consumer_and_producer_are_killed_and_each_record_is_there_once,
    "KafkaSource": test_kafka.test_killed_at_every_point_each_record_is_there_once,
    "KafkaSink": test_kafka.test_killed_at_every_point_each_record_is_there_once,
    "DataFrameSource": test_a_dataframe_gives_each_row_once,
    "SocketSource": test_a_socket_gives_no_record_twice,
}


@pytest.mark.feature("EO-05")
def test_every_connector_states_a_promise_that_a_test_proves() -> None:
    classes = connector_classes()
    assert {name for name, kind in classes.items() if kind.guarantee not in PROMISES} == set()
    proven = {kind.__name__ for kind in (*SOURCES, *SINKS)} | set(PROVEN_BY_TESTS_OF_THEIR_OWN)
    assert set(classes) - proven == set()


@pytest.mark.feature("EO-05")
def test_the_page_for_users_says_what_the_code_says() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([a-z-]+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    promised = {name: kind.guarantee for name, kind in connector_classes().items()}
    assert dict(rows) == {**promised, "SinkFunction": SinkFunction.guarantee}
