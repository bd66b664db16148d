from __future__ import annotations

import io
import struct
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, BinaryIO

import pytest

from firesteel.common import (
    ByteArraySchema,
    CompletableFuture,
    Configuration,
    Encoder,
    ExecutionConfig,
    FiresteelWarning,
    JobExecutionResult,
    JobID,
    JobStatus,
    RestartStrategies,
    Row,
    SimpleStringSchema,
    Time,
    Types,
    TypeSerializer,
)
from firesteel.common import warnings as firesteel_warnings
from firesteel.common.restart_strategy import restart_strategy_of
from firesteel.common.serialization import BulkWriter, RowDataBulkWriterFactory, RowFieldExtractorSchema
from firesteel.errors import ConfigurationError, TypeMismatchError


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firesteel_warnings, "_given", set())


# --- status, id, result, future --------------------------------------------------------------------


def test_terminal_states() -> None:
    terminal = {status.name for status in JobStatus if status.is_terminal_state()}
    for_good = {status.name for status in JobStatus if status.is_globally_terminal_state()}
    assert for_good == {"FINISHED", "FAILED", "CANCELED"}
    assert terminal == for_good | {"SUSPENDED"}


def test_job_ids() -> None:
    assert JobID() != JobID()
    assert JobID("AB" * 16) == JobID("ab" * 16) and str(JobID("ab" * 16)) == "ab" * 16
    with pytest.raises(ConfigurationError, match="32 hexadecimal"):
        JobID("xyz")


def test_results_hold_accumulators() -> None:
    result = JobExecutionResult(JobID("00" * 16), 12, {"seen": 5})
    assert (result.get_net_runtime(), result.get_job_id()) == (12, JobID("00" * 16))
    assert result.get_accumulator_result("seen") == 5
    assert result.get_all_accumulator_results() == {"seen": 5}
    with pytest.raises(ConfigurationError, match="it has: seen"):
        result.get_accumulator_result("sen")


def test_futures_wait_for_their_result() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    seen: list[int] = []
    future.add_done_callback(lambda done: seen.append(done.result()))
    assert not future.done()
    threading.Thread(target=future.set_result, args=(5,)).start()
    assert future.result(timeout=10) == 5
    assert future.done() and future.exception() is None and seen == [5]
    assert CompletableFuture.completed("x").result() == "x"


def test_futures_raise_what_the_producer_raised() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    future.set_exception(ValueError("no"))
    assert isinstance(future.exception(), ValueError)
    with pytest.raises(ValueError, match="no"):
        future.result()


def test_futures_can_be_cancelled() -> None:
    inner: Future[int] = Future()
    future = CompletableFuture(inner)
    assert future.cancel() and future.cancelled() and inner.cancelled()


# --- restart strategies -----------------------------------------------------------------------------


def waits(strategy: Any, failures: list[int]) -> list[int | None]:
    policy = strategy.new_policy()
    return [policy.on_failure(at) for at in failures]


def test_no_restart() -> None:
    assert waits(RestartStrategies.no_restart(), [0]) == [None]


def test_fixed_delay_allows_so_many_restarts() -> None:
    strategy = RestartStrategies.fixed_delay_restart(3, Time.milliseconds(100))
    assert waits(strategy, [0, 1, 2, 3]) == [100, 100, 100, None]
    assert strategy == RestartStrategies.fixed_delay_restart(3, 100)
    assert strategy != RestartStrategies.fixed_delay_restart(4, 100)


def test_failure_rate_counts_within_the_interval() -> None:
    strategy = RestartStrategies.failure_rate_restart(2, Time.seconds(10), Time.seconds(1))
    assert waits(strategy, [0, 5_000, 11_000, 12_000]) == [1000, 1000, 1000, None]


def test_exponential_delay_grows_and_starts_over() -> None:
    strategy = RestartStrategies.exponential_delay_restart(100, 350, 2.0, 10_000, 0)
    assert waits(strategy, [0, 200, 500, 1000, 20_000]) == [100, 200, 350, 350, 100]


def test_exponential_jitter_stays_in_its_share() -> None:
    strategy = RestartStrategies.exponential_delay_restart(1000, 60_000, 2.0, 10**9, 0.1)
    first = [strategy.new_policy().on_failure(0) for _ in range(50)]  # type: ignore[union-attr]
    assert all(wait is not None and 900 <= wait <= 1100 for wait in first) and len(set(first)) > 1


@pytest.mark.parametrize(
    ("settings", "strategy"),
    [
        ({}, RestartStrategies.no_restart()),
        ({"restart-strategy": "off", "execution.checkpointing.interval": "1 s"}, RestartStrategies.no_restart()),
        (
            {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "3"},
            RestartStrategies.fixed_delay_restart(3, 1000),
        ),
        (
            {"restart-strategy.type": "failure-rate"},
            RestartStrategies.failure_rate_restart(1, Time.minutes(1), Time.seconds(1)),
        ),
        (
            {"execution.checkpointing.interval": "1 s"},
            RestartStrategies.exponential_delay_restart(1000, 60_000, 1.5, Time.hours(1), 0.1),
        ),
    ],
    ids=str,
)
def test_the_configuration_names_a_strategy(settings: dict[str, str], strategy: Any) -> None:
    assert restart_strategy_of(Configuration.from_dict(settings)) == strategy


def test_wrong_strategies_are_refused() -> None:
    with pytest.raises(ConfigurationError):
        RestartStrategies.fixed_delay_restart(-1, 0)
    with pytest.raises(ConfigurationError):
        RestartStrategies.exponential_delay_restart(10, 5, 2.0, 1, 0)
    with pytest.raises(ConfigurationError, match="jitter"):
        RestartStrategies.exponential_delay_restart(1, 5, 2.0, 1, 2)


# --- ExecutionConfig ------------------------------------------------------------------------------------


def test_execution_config_and_configuration_say_the_same() -> None:
    configuration = Configuration.from_dict({"parallelism.default": 12})
    config = ExecutionConfig(configuration)
    assert config.get_parallelism() == 12
    config.set_parallelism(4).set_max_parallelism(16).set_auto_watermark_interval(50)
    config.set_global_job_parameters({"hello": "world", "n": 1}).disable_auto_generated_uids()
    assert configuration.to_dict() == {
        "parallelism.default": "4",
        "pipeline.max-parallelism": "16",
        "pipeline.auto-watermark-interval": "50 ms",
        "pipeline.global-job-parameters": "hello:world,n:1",
        "pipeline.auto-generate-uids": "false",
    }
    assert config.get_global_job_parameters() == {"hello": "world", "n": "1"}
    assert (config.get_max_parallelism(), config.get_auto_watermark_interval()) == (16, 50)
    assert not config.has_auto_generated_uids_enabled()
    config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT)
    assert config.get_parallelism() == ExecutionConfig.PARALLELISM_DEFAULT


def test_flinks_defaults() -> None:
    config = ExecutionConfig()
    assert config.get_auto_watermark_interval() == 200
    assert (config.get_task_cancellation_interval(), config.get_task_cancellation_timeout()) == (30_000, 180_000)
    assert config.is_closure_cleaner_enabled() and config.has_auto_generated_uids_enabled()
    assert not config.is_object_reuse_enabled() and not config.has_generic_types_disabled()
    assert ExecutionConfig().enable_object_reuse().is_object_reuse_enabled()
    assert not config.is_force_avro_enabled() and not config.is_force_kryo_enabled()
    assert config.get_latency_tracking_interval() == 0 and not config.is_use_snapshot_compression()


@pytest.mark.parametrize(
    ("setter", "getter", "expected"),
    [
        ("disable_closure_cleaner", "is_closure_cleaner_enabled", False),
        ("disable_generic_types", "has_generic_types_disabled", True),
        ("enable_force_kryo", "is_force_kryo_enabled", True),
        ("enable_force_avro", "is_force_avro_enabled", True),
    ],
)
def test_settings_without_effect_are_kept_and_warn(setter: str, getter: str, expected: bool) -> None:
    config = ExecutionConfig()
    with pytest.warns(FiresteelWarning, match="no effect here") as given:
        getattr(config, setter)()
    assert given[0].filename == __file__
    assert getattr(config, getter)() is expected


def test_execution_configs_compare_by_their_settings() -> None:
    one, other = ExecutionConfig().set_parallelism(12), ExecutionConfig().set_parallelism(11)
    assert one != other
    other.set_parallelism(12)
    assert one == other and hash(one) == hash(other)


def test_a_wrong_maximum_parallelism_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"1\.\.32768"):
        ExecutionConfig().set_max_parallelism(0)


@dataclass
class Point:
    x: float = 0
    y: float = 0


class PointSerializer(TypeSerializer[Point]):
    def serialize(self, element: Point, stream: BinaryIO) -> None:
        stream.write(struct.pack("dd", element.x, element.y))

    def deserialize(self, stream: BinaryIO) -> Point:
        return Point(*struct.unpack("dd", stream.read(16)))


def test_serializers_of_ones_own_are_registered_by_class() -> None:
    config = ExecutionConfig().register_serializer(Point, PointSerializer)
    serializer = config.get_registered_serializers()[Point]
    data = serializer.to_bytes(Point(1, 2))
    assert (len(data), serializer.from_bytes(data)) == (16, Point(1, 2))
    assert serializer == PointSerializer()
    assert [name.rpartition(".")[2] for name in config.get_registered_kryo_types()] == ["Point"]
    assert next(iter(config.get_default_kryo_serializer_classes().values())).endswith("PointSerializer")
    with pytest.raises(ConfigurationError, match="TypeSerializer"):
        config.register_serializer(Point, object())  # type: ignore[arg-type]


def test_registered_pojos_are_checked_at_once() -> None:
    class NoPojo:
        def __init__(self, needed: int) -> None:
            self.needed = needed

    config = ExecutionConfig().register_pojo_type(Point)
    assert [name.rpartition(".")[2] for name in config.get_registered_pojo_types()] == ["Point"]
    with pytest.raises(ConfigurationError, match="rule 2"):
        config.register_pojo_type(NoPojo)


# --- schemas and encoders --------------------------------------------------------------------------------


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1", "utf-16"])
def test_string_schema(charset: str) -> None:
    schema = SimpleStringSchema(charset)
    assert schema.serialize("grün") == "grün".encode(charset)
    assert schema.deserialize("grün".encode(charset)) == "grün"
    assert schema.get_produced_type() == Types.STRING() and not schema.is_end_of_stream("x")


def test_string_schema_refuses_what_is_no_text() -> None:
    with pytest.raises(TypeMismatchError, match="expected String, got 5"):
        SimpleStringSchema().serialize(5)
    with pytest.raises(ConfigurationError, match="unknown charset 'klingon'"):
        SimpleStringSchema("klingon")


def test_byte_array_schema() -> None:
    schema = ByteArraySchema()
    assert schema.deserialize(schema.serialize(bytearray(b"ab"))) == b"ab"
    with pytest.raises(TypeMismatchError, match="must be bytes"):
        schema.serialize("ab")


def test_row_field_schema() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("x", b"ab")) == b"ab"
    assert schema.serialize(Row("x", None)) == b""
    assert schema.serialize(None) == b""
    texts = [schema.serialize(Row("x", value)) for value in ("ü", 42, True, 1e10, [1, None])]
    assert texts == ["ü".encode(), b"42", b"true", b"1.0E10", b"[1, null]"]
    with pytest.raises(TypeMismatchError, match="more fields"):
        schema.serialize(Row("x"))
    with pytest.raises(ConfigurationError, match="counts from 0"):
        RowFieldExtractorSchema(-1)


def test_string_encoder_writes_lines() -> None:
    stream = io.BytesIO()
    encoder = Encoder.simple_string_encoder()
    for element in ("grün", 5):
        encoder.encode(element, stream)
    assert stream.getvalue() == "grün\n5\n".encode()


class CountingWriter(BulkWriter):
    def __init__(self, stream: BinaryIO, row_type: Any) -> None:
        self.stream, self.row_type, self.count = stream, row_type, 0

    def add_element(self, element: Any) -> None:
        self.count += 1

    def flush(self) -> None:
        self.stream.write(f"{self.count} ".encode())

    def finish(self) -> None:
        self.stream.write(str(self.row_type).encode())


def test_bulk_writers_know_the_row_type() -> None:
    row_type = Types.ROW([Types.INT()])
    factory = RowDataBulkWriterFactory(CountingWriter, row_type)
    stream = io.BytesIO()
    writer = factory.create(stream)
    writer.add_element(Row(1))
    writer.flush()
    writer.finish()
    assert stream.getvalue() == b"1 RowTypeInfo(Integer)" and factory.get_row_type() is row_type
