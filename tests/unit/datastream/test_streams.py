"""Each method of DataStream adds what it says to the graph, and complains about what it cannot use."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, FiresteelWarning, Types, WatermarkStrategy
from firesteel.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from firesteel.errors import ConfigurationError, FiresteelError, ProgramError, UnsupportedError
from firesteel.model.sink import Committer, Sink, SinkWriter
from firesteel.plan.graph import (
    OperatorTransformation,
    PartitionTransformation,
    SideOutputTransformation,
    Transformation,
    UnionTransformation,
)
from firesteel.runtime.basic import FilterOperator, FlatMapOperator, MapOperator
from firesteel.runtime.process import ProcessOperator
from firesteel.runtime.sinks import CollectOperator, SinkFunctionOperator, SinkWriterOperator
from firesteel.runtime.watermarks import TimestampsAndWatermarksOperator


def node_of(stream: DataStream) -> Any:
    return stream.get_transformation()


def operator_class(node: Transformation) -> type:
    assert isinstance(node, OperatorTransformation)
    assert isinstance(node.factory, partial)
    made: Any = node.factory.func
    assert isinstance(made, type)
    return made


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3])


class AddOne(MapFunction):
    def map(self, value: Any) -> Any:
        return value + 1


class Twice(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        yield value
        yield value


class IsOdd(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value % 2)


class Pass(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value


class KeyedPass(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


# ---- operators ---------------------------------------------------------------------------------------------


@pytest.mark.feature("DS-04", "DS-08")
@pytest.mark.parametrize(
    ("method", "functions", "name", "operator"),
    [
        ("map", [AddOne(), lambda n: n], "Map", MapOperator),
        ("flat_map", [Twice(), lambda n: [n]], "Flat Map", FlatMapOperator),
        ("filter", [IsOdd(), lambda n: True], "Filter", FilterOperator),
        ("process", [Pass(), lambda n, ctx: [n]], "Process", ProcessOperator),
    ],
)
def test_functions_and_callables_become_operators(
    numbers: DataStream, method: str, functions: list[Any], name: str, operator: type
) -> None:
    for function in functions:
        stream = getattr(numbers, method)(function)
        node = node_of(stream)
        assert operator_class(node) is operator
        assert node.inputs == [node_of(numbers)]
        assert node.key_selectors is None
        assert stream.get_name() == name
        assert Path(node.call_site.rpartition(":")[0]).name == "test_streams.py"


def test_declared_types_are_carried_along(numbers: DataStream) -> None:
    declared = numbers.map(str, Types.STRING())
    assert declared.get_type() == Types.STRING()
    assert declared.filter(bool).get_type() == Types.STRING()
    assert declared.rebalance().get_type() == Types.STRING()
    assert declared.map(len).get_type() is None
    assert declared.flat_map(list, Types.CHAR()).get_type() == Types.CHAR()
    assert declared.process(Pass(), Types.INT()).get_type() == Types.INT()


def test_project_keeps_fields_and_their_types(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([(1, "a", True)], Types.TUPLE([Types.INT(), Types.STRING(), Types.BOOLEAN()]))
    projected = pairs.project(2, 0)
    assert projected.get_type() == Types.TUPLE([Types.BOOLEAN(), Types.INT()])
    function = node_of(projected).factory.args[0]
    assert function.map((1, "a", True)) == (True, 1)
    assert env.from_collection([(1, 2)]).project(1).get_type() is None


def test_watermarks_become_an_operator(numbers: DataStream) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    stream = numbers.map(lambda n: n, Types.INT()).assign_timestamps_and_watermarks(strategy)
    assert operator_class(node_of(stream)) is TimestampsAndWatermarksOperator
    assert stream.get_type() == Types.INT()
    assert stream.get_name() == "Timestamps/Watermarks"


# ---- partitioning ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("shuffle", "SHUFFLE"),
        ("rebalance", "REBALANCE"),
        ("rescale", "RESCALE"),
        ("forward", "FORWARD"),
        ("global_", "GLOBAL"),
        ("broadcast", "BROADCAST"),
    ],
)
def test_partition_calls_stand_between_operators(numbers: DataStream, method: str, kind: str) -> None:
    mapped = getattr(numbers, method)().map(AddOne())
    partition = node_of(mapped).inputs[0]
    assert isinstance(partition, PartitionTransformation)
    assert partition.partitioning.kind == kind
    assert partition.inputs == [node_of(numbers)]


def test_the_last_partition_call_counts(numbers: DataStream) -> None:
    partition = node_of(numbers.shuffle().broadcast().rebalance())
    assert partition.partitioning.kind == "REBALANCE"
    assert partition.inputs == [node_of(numbers)]


class Modulo(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return int(key % num_partitions)


class Itself(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("partitioner", [Modulo(), lambda key, count: key % count])
@pytest.mark.parametrize("selector", [Itself(), lambda n: n])
def test_partition_custom_takes_functions_and_objects(numbers: DataStream, partitioner: Any, selector: Any) -> None:
    partitioning = node_of(numbers.partition_custom(partitioner, selector)).partitioning
    assert partitioning.kind == "CUSTOM"
    assert partitioning.partitioner(partitioning.key_selector(7), 4) == 3


def test_a_selector_that_wants_to_be_opened_is_refused(numbers: DataStream) -> None:
    class Opened(KeySelector):
        def open(self, runtime_context: Any) -> None:
            self.table = {1: "a"}

        def get_key(self, value: Any) -> Any:
            return self.table[value]

    with pytest.raises(UnsupportedError, match=r"key_by.*Opened.*open"):
        numbers.key_by(Opened())


# ---- several streams ---------------------------------------------------------------------------------------


def test_union_reads_all_streams(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    others = [env.from_elements(4), env.from_elements(5)]
    union = numbers.union(*others)
    node = node_of(union)
    assert isinstance(node, UnionTransformation)
    assert node.inputs == [node_of(stream) for stream in (numbers, *others)]
    assert numbers.union() is numbers
    assert node_of(numbers.union(numbers)).inputs == [node_of(numbers), node_of(numbers)]


def test_a_union_keeps_a_type_only_if_all_have_it(env: StreamExecutionEnvironment) -> None:
    first, second = env.from_collection([1], Types.INT()), env.from_collection([2], Types.INT())
    text = env.from_collection(["a"], Types.STRING())
    assert first.union(second).get_type() == Types.INT()
    assert first.union(text).get_type() is None


def test_streams_of_two_environments_do_not_meet(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().from_elements(1)
    for meet in (numbers.union, numbers.connect):
        with pytest.raises(ProgramError, match="different environments"):
            meet(other)


@pytest.mark.feature("SO-03")
def test_a_side_output_is_a_stream_of_its_own(numbers: DataStream) -> None:
    tag = OutputTag("late", Types.STRING())
    main = numbers.process(Pass())
    side = main.get_side_output(tag)
    node = node_of(side)
    assert isinstance(node, SideOutputTransformation)
    assert node.inputs == [node_of(main)]
    assert node.tag == tag
    assert side.get_type() == Types.STRING()
    assert operator_class(node_of(side.map(str))) is MapOperator


@pytest.mark.feature("SO-04")
def test_tags_with_one_name_must_agree_on_the_type(numbers: DataStream) -> None:
    main, other = numbers.process(Pass()), numbers.process(Pass())
    main.get_side_output(OutputTag("late", Types.STRING()))
    main.get_side_output(OutputTag("late", Types.STRING()))
    other.get_side_output(OutputTag("late", Types.INT()))
    with pytest.raises(ProgramError, match=r"'late'.*String.*test_streams\.py:\d+.*Integer"):
        main.get_side_output(OutputTag("late", Types.INT()))


def test_side_outputs_belong_to_operators(numbers: DataStream) -> None:
    with pytest.raises(ProgramError, match=r"get_side_output\('late'\).*rebalance\(\)"):
        numbers.rebalance().get_side_output(OutputTag("late"))


# ---- sinks -------------------------------------------------------------------------------------------------


class Writer(SinkWriter):
    def write(self, value: Any, context: Any) -> None:
        raise AssertionError("nothing runs here")


class PlainSink(Sink):
    def create_writer(self) -> SinkWriter:
        return Writer()


class TwoPhaseSink(PlainSink):
    def create_committer(self) -> Committer | None:
        raise AssertionError("made by the driver when the job runs")


def test_sinks_end_lines(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.print()
    numbers.print_to_err("label")
    numbers.add_sink(lambda value: None).name("mine")
    numbers.sink_to(PlainSink())
    numbers.sink_to(TwoPhaseSink())
    sinks = env.graph.graph.sinks()
    assert [sink.name for sink in sinks] == [
        "Sink: Print to Std. Out",
        "Sink: Print to Std. Err",
        "mine",
        "Sink: PlainSink",
        "Sink: TwoPhaseSink",
    ]
    assert [operator_class(sink) for sink in sinks] == [
        CollectOperator,
        CollectOperator,
        SinkFunctionOperator,
        SinkWriterOperator,
        SinkWriterOperator,
    ]
    assert [sink.committer_factory is not None for sink in sinks] == [False, False, False, False, True]
    assert all(sink.inputs == [node_of(numbers)] for sink in sinks)
    assert {sinks[0].collector_id, sinks[1].collector_id} == set(env.graph.driver_sinks)


def test_a_sink_can_be_set_like_an_operator(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    sink = numbers.print().name("out").uid("u").set_parallelism(1).set_description("all of it").disable_chaining()
    node = env.graph.graph.sinks()[0]
    assert (node.name, node.uid, node.parallelism, node.description, node.chaining) == (
        "out",
        "u",
        1,
        "all of it",
        "never",
    )
    with pytest.raises(UnsupportedError, match="uid"):
        sink.set_uid_hash("abc")


# ---- settings of operators ---------------------------------------------------------------------------------


@pytest.mark.feature("DS-09")
def test_operator_settings(numbers: DataStream) -> None:
    stream = numbers.map(AddOne())
    assert stream.get_parallelism() == 2
    same = (
        stream.name("plus one")
        .uid("plus-one")
        .set_parallelism(3)
        .set_max_parallelism(64)
        .set_description("adds one")
        .start_new_chain()
    )
    node = node_of(stream)
    assert same is stream
    assert (node.name, node.uid, node.parallelism, node.max_parallelism, node.description, node.chaining) == (
        "plus one",
        "plus-one",
        3,
        64,
        "adds one",
        "head",
    )
    assert stream.get_parallelism() == 3
    assert stream.rebalance().get_parallelism() == 3
    assert stream.disable_chaining().get_transformation().chaining == "never"  # type: ignore[attr-defined]


def test_force_non_parallel_is_for_good(numbers: DataStream) -> None:
    stream = numbers.map(AddOne()).force_non_parallel()
    assert stream.get_parallelism() == 1
    assert stream.set_parallelism(1) is stream
    with pytest.raises(ConfigurationError, match="'Map' can only run with parallelism 1, got 2"):
        stream.set_parallelism(2)


def test_a_collection_source_cannot_be_parallel(numbers: DataStream) -> None:
    with pytest.raises(ConfigurationError, match="parallelism 1, got 4"):
        numbers.set_parallelism(4)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("name", ["x"]),
        ("uid", ["x"]),
        ("set_description", ["x"]),
        ("set_parallelism", [2]),
        ("set_max_parallelism", [2]),
        ("force_non_parallel", []),
        ("start_new_chain", []),
        ("disable_chaining", []),
        ("slot_sharing_group", ["x"]),
        ("set_buffer_timeout", [1]),
        ("cache", []),
    ],
)
def test_what_is_no_operator_cannot_be_set(numbers: DataStream, method: str, arguments: list[Any]) -> None:
    for stream in (numbers.rebalance(), numbers.union(numbers), numbers.key_by(lambda n: n)):
        with pytest.raises(ProgramError, match=rf"{method}\(\) concerns an operator"):
            getattr(stream, method)(*arguments)


def test_settings_without_meaning_warn_once(numbers: DataStream) -> None:
    stream = numbers.map(AddOne())
    with pytest.warns(FiresteelWarning, match="network buffers"):
        stream.set_buffer_timeout(10)
    stream.set_buffer_timeout(10)
    with pytest.warns(FiresteelWarning, match="slot_sharing_group"):
        stream.slot_sharing_group("heavy")
    stream.slot_sharing_group(SlotSharingGroup.builder("other").build())
    assert node_of(stream).slot_sharing_group == "other"


def test_set_uid_hash_is_not_supported(numbers: DataStream) -> None:
    with pytest.raises(UnsupportedError, match=r"set_uid_hash.*uid"):
        numbers.map(AddOne()).set_uid_hash("cbc357ccb763df2852fee8c4fc7d55f2")


def test_a_stream_knows_where_it_belongs(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    assert numbers.get_execution_environment() is env
    assert numbers.get_execution_config() is env.get_config()


# ---- wrong arguments ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "arguments", "message"),
    [
        ("map", [3], "map: func must be a MapFunction"),
        ("map", [AddOne], "map: .*instance"),
        ("map", [str, "string"], "map: output_type must be a TypeInformation or None, got 'string'"),
        ("flat_map", [None], "flat_map: func"),
        ("filter", [Twice()], "filter: func"),
        ("process", [KeyedPass()], "process: .*KeyedProcessFunction.*key_by"),
        ("project", [], "project: no field"),
        ("project", ["a"], "project: field_indexes must be a whole number of at least 0, got 'a'"),
        ("union", [3], r"union: streams must be a DataStream, got 3 \(int\)"),
        ("connect", ["x"], "connect: ds must be a DataStream"),
        ("key_by", [None], "key_by: key"),
        ("key_by", [str, "int"], "key_by: key_type must be a TypeInformation"),
        ("partition_custom", [3, str], "partition_custom: func"),
        ("partition_custom", [max, None], "partition_custom: key"),
        ("assign_timestamps_and_watermarks", [5], "assign_timestamps_and_watermarks: watermark_strategy"),
        ("get_side_output", ["late"], "get_side_output: output_tag must be an OutputTag, got 'late'"),
        ("print", [3], "print: sink_identifier must be a non-empty string"),
        ("print_to_err", [""], "print_to_err: sink_identifier"),
        ("add_sink", [3], "add_sink: func"),
        ("sink_to", [print], "sink_to: sink must be a Sink.*add_sink"),
        ("execute_and_collect", ["x", 0], "execute_and_collect: limit must be a whole number of at least 1"),
        ("name", [""], "name: name must be a non-empty string"),
        ("uid", [7], "uid: uid must be a non-empty string"),
        ("set_parallelism", [0], "set_parallelism: parallelism must be a whole number from 1 to 32768, got 0"),
        ("set_parallelism", [True], "set_parallelism: parallelism"),
        ("set_max_parallelism", [40000], "set_max_parallelism: max_parallelism"),
        ("slot_sharing_group", [3], "slot_sharing_group: slot_sharing_group must be a name"),
        ("set_buffer_timeout", [-2], "set_buffer_timeout: timeout_millis"),
    ],
)
def test_wrong_arguments_name_method_argument_and_value(
    numbers: DataStream, method: str, arguments: list[Any], message: str
) -> None:
    with pytest.raises(FiresteelError, match=message) as caught:
        getattr(numbers.map(AddOne()), method)(*arguments)
    assert isinstance(caught.value, (ConfigurationError, ProgramError))


def test_the_plan_shows_operators_and_edges(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.map(AddOne()).key_by(lambda n: n).process(KeyedPass()).print()
    plan = json.loads(env.get_execution_plan())
    assert [node["contents"] for node in plan["nodes"]] == [
        "Source: Collection Source",
        "Map",
        "KeyedProcess",
        "Sink: Print to Std. Out",
    ]
    assert [node["parallelism"] for node in plan["nodes"]] == [1, 2, 2, 2]
    strategies = [node.get("predecessors", [{}])[0].get("ship_strategy") for node in plan["nodes"]]
    assert strategies == [None, "REBALANCE", "HASH", "FORWARD"]


def test_the_plan_can_be_read_with_eval_too(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.union(numbers.map(AddOne())).key_by(lambda n: n).process(KeyedPass()).print()
    text = env.get_execution_plan()
    assert eval(text, {}) == json.loads(text)
