"""StreamExecutionEnvironment: sources, settings, laziness, what execute() hands over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import (
    Configuration,
    Duration,
    FiresteelWarning,
    RestartStrategies,
    Types,
    WatermarkStrategy,
)
from firesteel.common.restart_strategy import restart_strategy_of
from firesteel.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.connectors.number_seq import NumberSequenceSource
from firesteel.datastream import (
    DataStream,
    RuntimeExecutionMode,
    SlotSharingGroup,
    SourceFunction,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from firesteel.datastream._internal.environment_settings import _usable_cores
from firesteel.datastream.data_stream import CachedDataStream
from firesteel.datastream.functions import ParallelSourceFunction
from firesteel.errors import ConfigurationError, FiresteelError, ProgramError, TypeMismatchError
from firesteel.plan.graph import SourceTransformation
from tests.unit.datastream.recording import RecordingExecutor


def source_of(stream: DataStream) -> SourceTransformation:
    node = stream.get_transformation()
    assert isinstance(node, SourceTransformation)
    return node


# ---- making one --------------------------------------------------------------------------------------------


def test_each_environment_has_settings_of_its_own() -> None:
    configuration = Configuration.from_dict({"parallelism.default": 3})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(5)
    assert configuration.get_integer("parallelism.default", -1) == 3
    assert env.get_configuration().get_integer("parallelism.default", -1) == 5
    with pytest.raises(ConfigurationError, match="get_execution_environment: configuration must be a Configuration"):
        StreamExecutionEnvironment.get_execution_environment({"parallelism.default": 3})  # type: ignore[arg-type]


class Session:
    """What is asked of a SparkSession when a program is built."""

    class sparkContext:
        master = "local[7]"
        defaultParallelism = 7

        @staticmethod
        def getConf() -> dict[str, str]:
            return {}


def test_parallelism_is_set_or_sparks_or_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    # An earlier room may have left a session running, whose cores would count.
    monkeypatch.setattr("firesteel.execution.spark.executor.running_session", lambda: None)
    make = StreamExecutionEnvironment.get_execution_environment
    assert make(spark=Session()).get_parallelism() == 7
    for master, cores in [("local[3]", 3), ("local[4,2]", 4), ("local", 1)]:
        assert make(Configuration.from_dict({"firesteel.master": master})).get_parallelism() == cores
        assert make(Configuration.from_dict({"spark.master": master})).get_parallelism() == cores
    assert make(Configuration.from_dict({"spark.default.parallelism": "5"})).get_parallelism() == 5
    assert make(Configuration.from_dict({"firesteel.master": "local[*]"})).get_parallelism() == _usable_cores()
    env = make()
    env.set_default_local_parallelism(9)
    assert env.get_default_local_parallelism() == 9
    assert env.get_parallelism() == 9
    assert env.set_parallelism(2) is env
    assert env.get_parallelism() == 2
    assert env.get_config().get_parallelism() == 2


def test_cores_that_a_container_does_not_give_do_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    monkeypatch.setattr("firesteel.datastream._internal.environment_settings._CPU_QUOTA", quota)
    cores = _usable_cores()
    for text, expected in [
        ("max 100000", cores),
        ("100000 100000", 1),
        ("50000 100000", 1),
        ("10000000 100000", cores),
    ]:
        quota.write_text(text + "\n")
        assert _usable_cores() == expected


# ---- sources -----------------------------------------------------------------------------------------------


class Once(SourceFunction):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)

    def cancel(self) -> None:
        pass


class Many(ParallelSourceFunction, Once):
    pass


@pytest.mark.parametrize(
    ("make", "name", "single"),
    [
        (lambda env: env.from_collection([1, 2]), "Collection Source", True),
        (lambda env: env.from_collection(range(3)), "Collection Source", True),
        (lambda env: env.from_elements(1, 2), "Collection Source", True),
        (lambda env: env.from_sequence(1, 9), "Sequence Source", False),
        (lambda env: env.from_data_generator(str, 9), "Data Generator", False),
        (lambda env: env.read_text_file("somewhere"), "Text File", False),
        (lambda env: env.socket_text_stream("localhost", 9999), "Socket Stream", True),
        (lambda env: env.add_source(Once()), "Custom Source", True),
        (lambda env: env.add_source(Many(), "many"), "many", False),
        (lambda env: env.add_source(lambda: [1, 2]), "Custom Source", True),
        (lambda env: env.add_source(lambda ctx: ctx.collect(1)), "Custom Source", True),
        (
            lambda env: env.from_source(NumberSequenceSource(1, 9), WatermarkStrategy.no_watermarks(), "numbers"),
            "numbers",
            False,
        ),
    ],
)
def test_sources(env: StreamExecutionEnvironment, make: Any, name: str, single: bool) -> None:
    stream = make(env)
    node = source_of(stream)
    assert node.name == f"Source: {name}"
    assert node.inputs == []
    assert node.fixed_parallelism is single
    assert stream.get_parallelism() == (1 if single else 2)
    assert node.watermark_strategy is None


@pytest.mark.parametrize(
    ("function", "collected"),
    [
        (lambda: iter([1, 2]), [1, 2]),
        (lambda ctx: [ctx.collect(n) for n in (3, 4)], [3, 4]),
    ],
)
def test_callables_as_sources(function: Any, collected: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    from firesteel.datastream._internal.environment_sources import _of_callable

    class Context:
        def __init__(self) -> None:
            self.values: list[Any] = []

        def collect(self, value: Any) -> None:
            self.values.append(value)

    context = Context()
    _of_callable(function).run(context)  # type: ignore[arg-type]
    assert context.values == collected


def test_a_cancelled_iterable_stops_emitting() -> None:
    from firesteel.datastream._internal.environment_sources import _of_callable

    function = _of_callable(lambda: iter(int, 1))  # without end

    class Context:
        count = 0

        def collect(self, value: Any) -> None:
            self.count += 1
            if self.count == 3:
                function.cancel()

    context = Context()
    function.run(context)  # type: ignore[arg-type]
    assert context.count == 3


def test_declared_types_of_sources(env: StreamExecutionEnvironment) -> None:
    assert env.from_collection([1], Types.INT()).get_type() == Types.INT()
    assert env.from_elements("a", type_info=Types.STRING()).get_type() == Types.STRING()
    assert env.from_data_generator(str, 1, type_info=Types.STRING()).get_type() == Types.STRING()
    generator = DataGeneratorSource(str, 1, type_info=Types.STRING())
    declared = env.from_source(generator, WatermarkStrategy.no_watermarks(), "generated")
    assert declared.get_type() == Types.STRING()
    with pytest.raises(TypeMismatchError, match="from_collection: element 1 is declared as Integer"):
        env.from_collection([1, "two"], Types.INT())


def test_a_watermark_strategy_runs_in_the_source(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    assert source_of(env.from_source(NumberSequenceSource(1, 2), strategy, "n")).watermark_strategy is strategy


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda env: env.from_collection("abc"), "from_collection: collection must be a list"),
        (lambda env: env.from_collection(5), "from_collection: collection must be a list"),
        (lambda env: env.from_collection([1], "int"), "from_collection: type_info must be a TypeInformation"),
        (lambda env: env.from_sequence(5, 1), "5 to 1"),
        (lambda env: env.from_source(5, WatermarkStrategy.no_watermarks(), "x"), "from_source: source must be"),
        (lambda env: env.from_source(NumberSequenceSource(1, 2), None, "x"), "from_source: watermark_strategy"),
        (
            lambda env: env.from_source(NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), ""),
            "from_source: source_name",
        ),
        (lambda env: env.add_source(5), "add_source: source_func must be"),
        (lambda env: env.add_source(Once), "add_source: source_func must be an instance"),
        (lambda env: env.add_source(lambda a, b: None), "takes 2 parameters"),
        (lambda env: env.from_data_generator(str, 1, 5), "from_data_generator: rate_limiter_strategy"),
        (lambda env: env.socket_text_stream("", 1), "socket_text_stream: hostname"),
        (lambda env: env.socket_text_stream("h", 0), "port"),
    ],
)
def test_wrong_sources(env: StreamExecutionEnvironment, call: Any, message: str) -> None:
    with pytest.raises(FiresteelError, match=message):
        call(env)


# ---- running -----------------------------------------------------------------------------------------------


@pytest.mark.feature("DS-02")
def test_nothing_runs_before_execute(
    env: StreamExecutionEnvironment, executor: RecordingExecutor, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    env.from_collection([1]).map(lambda n: mark.touch()).print()
    env.get_execution_plan()
    env.explain()
    assert not mark.exists()
    assert executor.submissions == []
    env.execute("job")
    assert [submission.plan.name for submission in executor.submissions] == ["job"]


def test_execute_without_a_sink_says_so(env: StreamExecutionEnvironment, executor: RecordingExecutor) -> None:
    env.from_collection([1]).map(str)
    for run in (env.execute, env.execute_async, env.get_execution_plan, env.explain):
        with pytest.raises(ProgramError, match=r"no sink.*print\(\)"):
            run()
    assert executor.submissions == []


def test_execute_waits_and_execute_async_does_not(env: StreamExecutionEnvironment, executor: RecordingExecutor) -> None:
    env.from_elements(1).print()
    result = env.execute()
    env.from_elements(1).print()
    env.execute_async()
    assert [submission.detached for submission in executor.submissions] == [False, True]
    assert result.get_net_runtime() == 1


def test_the_graph_is_empty_after_execute(env: StreamExecutionEnvironment, executor: RecordingExecutor) -> None:
    env.from_elements(1).print()
    env.execute()
    with pytest.raises(ProgramError, match="no sink"):
        env.execute()
    env.from_elements(2).print()
    env.execute()
    assert [len(submission.sinks) for submission in executor.submissions] == [1, 1]


def test_a_stream_of_a_former_job_runs_again_without_its_other_sinks(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    stream = env.from_elements(1).map(str)
    stream.print()
    env.execute()
    stream.rebalance().filter(bool).print()
    env.execute()
    names = [operator.info.name for chain in executor.submissions[1].plan.chains for operator in chain.operators]
    assert sorted(names) == ["Filter", "Map", "Sink: Print to Std. Out", "Source: Collection Source"]


def test_a_job_that_does_not_compile_leaves_the_graph(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    stream = env.from_elements(1).map(str).set_parallelism(3).set_max_parallelism(2)
    stream.print()
    with pytest.raises(ConfigurationError, match="max parallelism"):
        env.execute()
    stream.set_max_parallelism(4)
    env.execute()
    assert len(executor.submissions) == 1


def test_the_job_name_comes_from_the_call_or_the_configuration(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    for name in (None, "called"):
        env.from_elements(1).print()
        env.execute(name)
    env.get_configuration().set_string("pipeline.name", "configured")
    env.from_elements(1).print()
    env.execute()
    names = [submission.plan.name for submission in executor.submissions]
    assert names == ["Firesteel Streaming Job", "called", "configured"]
    env.from_elements(1).print()
    with pytest.raises(ConfigurationError, match="execute: job_name must be a non-empty string"):
        env.execute(5)  # type: ignore[arg-type]


def test_settings_reach_the_plan(env: StreamExecutionEnvironment, executor: RecordingExecutor) -> None:
    env.set_max_parallelism(16).disable_operator_chaining()
    env.get_config().set_global_job_parameters({"city": "Berlin"})
    env.from_elements(1).map(str).print()
    env.execute()
    plan = executor.submissions[0].plan
    assert {chain.max_parallelism for chain in plan.chains} == {16}
    assert [len(chain.operators) for chain in plan.chains] == [1, 1, 1]
    assert plan.job_parameters == {"city": "Berlin"}
    assert not plan.batch_mode
    env.set_parallelism(4)
    assert plan.configuration.get_integer("parallelism.default", -1) == 2, "a submitted plan must not change"


@pytest.mark.feature("BB-01")
@pytest.mark.parametrize(
    ("mode", "bounded", "batch"),
    [
        (RuntimeExecutionMode.STREAMING, True, False),
        (RuntimeExecutionMode.BATCH, True, True),
        (RuntimeExecutionMode.AUTOMATIC, True, True),
        (RuntimeExecutionMode.AUTOMATIC, False, False),
    ],
)
def test_the_runtime_mode(
    env: StreamExecutionEnvironment,
    executor: RecordingExecutor,
    mode: RuntimeExecutionMode,
    bounded: bool,
    batch: bool,
) -> None:
    env.set_runtime_mode(mode)
    env.from_data_generator(str, 5 if bounded else None, RateLimiterStrategy.per_second(1)).print()
    env.execute()
    assert executor.submissions[0].plan.batch_mode is batch


def test_batch_needs_sources_that_end(env: StreamExecutionEnvironment) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_data_generator(str).print()
    with pytest.raises(ProgramError, match=r"BATCH needs sources that end.*Data Generator.*test_environment\.py"):
        env.execute()


def test_to_dataframe_needs_sources_that_end(env: StreamExecutionEnvironment) -> None:
    stream = env.from_data_generator(str)
    with pytest.raises(ProgramError, match=r"to_dataframe\(\) needs sources that end"):
        stream.to_dataframe()


def test_to_dataframe_runs_the_job_and_hands_over_records_type_and_session(
    env: StreamExecutionEnvironment, executor: RecordingExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firesteel.connectors.dataframe.rows_to_dataframe", lambda *given: given)
    executor.deliver = ["1", "2"]
    session = Session()
    stream = env.from_elements(1, 2).map(str, Types.STRING())
    assert stream.to_dataframe(session) == (["1", "2"], Types.STRING(), session)
    assert stream.to_dataframe() == (["1", "2"], Types.STRING(), None)
    env._session = session
    assert stream.to_dataframe() == (["1", "2"], Types.STRING(), session)
    assert [submission.detached for submission in executor.submissions] == [False] * 3


def test_without_automatic_uids_each_operator_needs_one(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    env.get_config().disable_auto_generated_uids()
    stream = env.from_elements(1).uid("source")
    sink = stream.print()
    with pytest.raises(ProgramError, match=r"'Sink: Print to Std\. Out'.*no uid"):
        env.execute()
    sink.uid("out")
    env.execute()
    uids = [operator.info.uid for chain in executor.submissions[0].plan.chains for operator in chain.operators]
    assert uids == ["source", "out"]


@pytest.mark.feature("TM-04")
def test_the_time_characteristic(env: StreamExecutionEnvironment, executor: RecordingExecutor) -> None:
    assert env.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    plain = env.from_elements(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stamped = env.from_source(NumberSequenceSource(1, 2), strategy, "stamped")
    plain.union(stamped).print()
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    env.get_execution_plan()
    assert source_of(plain).ingestion_time
    assert not source_of(stamped).ingestion_time
    env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    env.execute()
    assert not source_of(plain).ingestion_time


def test_close_forgets_what_was_not_run(env: StreamExecutionEnvironment) -> None:
    env.from_elements(1).print()
    env.close()
    with pytest.raises(ProgramError, match="no sink"):
        env.execute()


# ---- cached streams ----------------------------------------------------------------------------------------


def operators(executor: RecordingExecutor, job: int) -> list[str]:
    plan = executor.submissions[job].plan
    return [operator.info.name for chain in plan.chains for operator in chain.operators]


def test_a_cached_stream_is_computed_by_the_first_job_only(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    cached = env.from_elements(1).map(str, Types.STRING()).cache()
    assert isinstance(cached, CachedDataStream)
    cached.add_sink(print)
    executor.deliver = [("1", 5)]
    env.execute()
    assert "Sink: Cache" in operators(executor, 0)
    assert len(executor.submissions[0].sinks) == 1

    cached.filter(bool).add_sink(print)
    env.execute()
    names = operators(executor, 1)
    assert "Source: Cache of Map" in names
    assert "Source: Collection Source" not in names
    assert "Sink: Cache" not in names
    assert cached.get_type() == Types.STRING()

    cached.invalidate()
    cached.add_sink(print)
    env.execute()
    assert "Source: Collection Source" in operators(executor, 2)


def test_the_records_of_a_cache_keep_their_timestamps(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    cached = env.from_elements(1).map(str).cache()
    cached.print()
    executor.deliver = [("1", 5), ("2", 7)]
    env.execute()
    unwrap = cached.get_transformation()
    source = unwrap.inputs[0]
    assert isinstance(source, SourceTransformation)
    assert source.watermark_strategy is not None
    assign = source.watermark_strategy.timestamp_function
    assert assign is not None
    assert assign(("2", 7), -1) == 7
    assert unwrap.factory.args[0].map(("2", 7)) == "2"  # type: ignore[attr-defined]


def test_a_failed_job_fills_no_cache(
    env: StreamExecutionEnvironment, executor: RecordingExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = env.from_elements(1).map(str).cache()
    cached.print()
    graph, sinks = env._graph_with_caches()
    assert len(graph.transformations) == len(env.graph.graph.transformations) + 2
    (sink,) = sinks.values()
    sink.accept(0, [("1", None)])
    sink.finished(RuntimeError("boom"))
    assert not env.caches[0].is_filled


def test_a_cache_that_is_not_part_of_the_job_is_left_alone(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    env.from_elements(1).map(str).cache().print()
    env.close()
    env.from_elements(2).print()
    env.execute()
    assert "Sink: Cache" not in operators(executor, 0)


# ---- settings ----------------------------------------------------------------------------------------------


def test_execution_settings(env: StreamExecutionEnvironment) -> None:
    assert env.get_max_parallelism() == -1
    assert env.set_max_parallelism(64).get_max_parallelism() == 64
    assert env.is_chaining_enabled()
    assert not env.disable_operator_chaining().is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.set_default_savepoint_directory("file:///sp").get_default_savepoint_directory() == "file:///sp"
    env.configure(Configuration.from_dict({"pipeline.name": "n"}))
    assert env.get_configuration().get_string("pipeline.name", "") == "n"


def test_settings_without_meaning_warn(env: StreamExecutionEnvironment) -> None:
    with pytest.warns(FiresteelWarning, match="buffer"):
        env.set_buffer_timeout(50)
    with pytest.warns(FiresteelWarning, match="JAR"):
        env.add_jars("file:///x.jar")
    with pytest.warns(FiresteelWarning, match="JAR"):
        env.add_classpaths("file:///x")
    with pytest.warns(FiresteelWarning, match="changelog"):
        env.enable_changelog_state_backend(True)
    assert env.get_buffer_timeout() == 50
    assert env.is_changelog_state_backend_enabled()


@pytest.mark.parametrize(
    "strategy",
    [
        RestartStrategies.no_restart(),
        RestartStrategies.fixed_delay_restart(3, 1000),
        RestartStrategies.failure_rate_restart(3, 60_000, 500),
        RestartStrategies.exponential_delay_restart(1000, 9000, 2.0, 60_000, 0.1),
    ],
)
def test_restart_strategies_end_in_the_configuration(env: StreamExecutionEnvironment, strategy: Any) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(7, 7))
    env.set_restart_strategy(strategy)
    assert restart_strategy_of(env.get_configuration()) == strategy


def test_the_fallback_restart_strategy_takes_the_setting_back(env: StreamExecutionEnvironment) -> None:
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(7, 7))
    env.set_restart_strategy(RestartStrategies.fall_back_restart())
    assert not env.get_configuration().contains_key("restart-strategy.type")


@pytest.mark.feature("DS-12")
def test_python_dependencies(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "requirements.txt", "data.zip"):
        (tmp_path / name).touch()
    (tmp_path / "cache").mkdir()
    env.add_python_file(str(tmp_path / "a.py"))
    env.add_python_file(str(tmp_path / "b.py"))
    env.add_python_archive(str(tmp_path / "data.zip"))
    env.add_python_archive(str(tmp_path / "data.zip"), "data")
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(tmp_path / "cache"))
    env.set_python_executable("/usr/bin/python3")
    settings = env.get_configuration().to_dict()
    assert Configuration.parse_list_value(settings["python.files"]) == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
    assert Configuration.parse_list_value(settings["python.archives"]) == [
        str(tmp_path / "data.zip"),
        str(tmp_path / "data.zip") + "#data",
    ]
    assert settings["python.requirements"] == f"{tmp_path / 'requirements.txt'}#{tmp_path / 'cache'}"
    assert settings["python.executable"] == "/usr/bin/python3"
    with pytest.raises(ConfigurationError, match="add_python_file: file_path must be an existing path, got 'missing"):
        env.add_python_file("missing.py")


def test_slot_sharing_groups_are_registered_by_name(env: StreamExecutionEnvironment) -> None:
    group = SlotSharingGroup.builder("g").build()
    assert env.register_slot_sharing_group(group).register_slot_sharing_group(group) is env
    with pytest.warns(FiresteelWarning, match="resources"):
        other = SlotSharingGroup.builder("g").set_cpu_cores(1).set_task_heap_memory_mb(64).build()
    with pytest.raises(ConfigurationError, match=r"register_slot_sharing_group.*'g'"):
        env.register_slot_sharing_group(other)


@pytest.mark.parametrize(
    ("method", "argument"),
    [
        ("set_parallelism", 0),
        ("set_max_parallelism", 0),
        ("set_default_local_parallelism", "2"),
        ("set_runtime_mode", "BATCH"),
        ("set_stream_time_characteristic", "EventTime"),
        ("set_buffer_timeout", -5),
        ("configure", {}),
        ("register_slot_sharing_group", "g"),
        ("set_default_savepoint_directory", ""),
        ("set_state_backend", "rocksdb"),
        ("set_restart_strategy", 3),
        ("enable_checkpointing", 0),
        ("enable_changelog_state_backend", 1),
        ("set_python_executable", ""),
    ],
)
def test_wrong_settings_name_the_method(env: StreamExecutionEnvironment, method: str, argument: Any) -> None:
    named = "set_checkpoint_interval" if method == "enable_checkpointing" else method
    with pytest.raises(ConfigurationError, match=rf"^{named}: \w+ must be .*, got {argument!r}"):
        getattr(env, method)(argument)


def test_the_plan_can_be_read_without_running(env: StreamExecutionEnvironment) -> None:
    env.from_elements(1).map(str).set_description("as text").print()
    plan = json.loads(env.get_execution_plan())
    assert "as text" in [node["type"] for node in plan["nodes"]]
    assert "level 0" in env.explain()
