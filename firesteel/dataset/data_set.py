"""A bounded collection of records, and what can be made of it. Nothing runs before ``execute`` or ``collect``."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.common.typeinfo import TypeInformation
from firesteel.dataset.aggregations import Aggregations, extreme_record
from firesteel.dataset.functions import (
    CrossFunction,
    GroupCombineFunction,
    GroupReduceFunction,
    MapPartitionFunction,
    as_function,
    parse_forwarded,
)
from firesteel.dataset.keys import Keys, as_keys
from firesteel.dataset.outputs import CsvTarget, FormatTarget, OutputFormat, PrintTarget, Target, TextTarget, WriteMode
from firesteel.dataset.plan.nodes import (
    AggregateNode,
    ApplyNode,
    CombineGroupNode,
    CrossNode,
    DistinctNode,
    FirstNode,
    GroupReduceNode,
    JoinHint,
    JoinKind,
    Node,
    Order,
    PartitionNode,
    ReduceNode,
    SinkNode,
    SortPartitionNode,
    UnionNode,
)
from firesteel.errors import ConfigurationError
from firesteel.model.functions.adapt import (
    as_filter_function,
    as_flat_map_function,
    as_map_function,
    as_partitioner,
    as_reduce_function,
)
from firesteel.plan.graph import user_call_site

if TYPE_CHECKING:
    from firesteel.dataset.environment import ExecutionEnvironment
    from firesteel.dataset.grouping import UnsortedGrouping
    from firesteel.dataset.iteration import DeltaIteration, IterativeDataSet
    from firesteel.dataset.joining import CoGroupOperatorSets, JoinOperatorSets

__all__ = ["AggregateOperator", "CrossOperator", "DataSet", "DataSink", "PartitionedDataSet", "SortedPartitionDataSet"]

_D = TypeVar("_D", bound="DataSet")


class Aggregating(ABC):
    """What is made of fields by names of its own: over all records, or in each group."""

    @abstractmethod
    def reduce(self, reducer: Any) -> DataSet:
        """One record of all, two at a time."""

    @abstractmethod
    def aggregate(self, aggregation: Aggregations, field: int | str) -> AggregateOperator:
        """The sum, minimum or maximum of a field."""

    def sum(self, field: int | str) -> AggregateOperator:
        """``aggregate(Aggregations.SUM, field)``."""
        return self.aggregate(Aggregations.SUM, field)

    def min(self, field: int | str) -> AggregateOperator:
        """``aggregate(Aggregations.MIN, field)``."""
        return self.aggregate(Aggregations.MIN, field)

    def max(self, field: int | str) -> AggregateOperator:
        """``aggregate(Aggregations.MAX, field)``."""
        return self.aggregate(Aggregations.MAX, field)

    def min_by(self, *fields: int | str) -> DataSet:
        """The record with the smallest values of these fields; one of them if several have the same."""
        return self.reduce(extreme_record(fields, "min_by")).name("MinBy")

    def max_by(self, *fields: int | str) -> DataSet:
        """The record with the largest values of these fields; one of them if several have the same."""
        return self.reduce(extreme_record(fields, "max_by")).name("MaxBy")


class DataSet(Aggregating):
    """A bounded collection of records. Made by an :class:`ExecutionEnvironment` and by the methods of other data sets.

    ::

        >>> from firesteel.dataset import ExecutionEnvironment
        >>> env = ExecutionEnvironment.get_execution_environment()  # doctest: +SKIP
        >>> env.from_elements(3, 1, 2).map(lambda n: n * 10).collect()  # doctest: +SKIP
        [30, 10, 20]
    """

    def __init__(self, environment: ExecutionEnvironment, node: Node) -> None:
        self._environment = environment
        self._node = node

    @property
    def node(self) -> Node:
        """The step of the plan that gives this data set; for libraries that build on this one."""
        return self._node

    def get_execution_environment(self) -> ExecutionEnvironment:
        """The environment in which the data set was made."""
        return self._environment

    def __repr__(self) -> str:
        return f"<DataSet {self._node.name!r}, made at {self._node.call_site}>"

    # --- how a step is carried out ------------------------------------------------------------------

    def name(self: _D, name: str) -> _D:
        """Name the step that makes this data set, for plans and errors."""
        self._node.name = name
        return self

    def set_parallelism(self: _D, parallelism: int) -> _D:
        """In how many tasks the step runs; the environment's parallelism if it is not set."""
        if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
            raise ConfigurationError(f"set_parallelism: expected a whole number of at least 1, got {parallelism!r}")
        self._node.parallelism = parallelism
        return self

    def with_broadcast_set(self: _D, data: DataSet, name: str) -> _D:
        """Give all records of another data set to each task: ``get_broadcast_variable(name)`` of its context."""
        self._same_environment(data, "with_broadcast_set")
        self._node.broadcast[name] = data.node
        return self

    def with_parameters(self: _D, parameters: Any) -> _D:
        """Give something picklable to the step's function: ``get_parameters()`` of its runtime context."""
        self._node.parameters = parameters
        return self

    def with_forwarded_fields(self: _D, *expressions: str) -> _D:
        """Say that the step copies fields: ``"f0"``, ``"f0->f2"``. Saves exchanges; if untrue, results are wrong."""
        return self._forwarded(0, expressions)

    def with_forwarded_fields_first(self: _D, *expressions: str) -> _D:
        """The same for fields of the first input."""
        return self._forwarded(0, expressions)

    def with_forwarded_fields_second(self: _D, *expressions: str) -> _D:
        """The same for fields of the second input."""
        return self._forwarded(1, expressions)

    def _forwarded(self: _D, index: int, expressions: tuple[str, ...]) -> _D:
        self._node.forwarded[index] = parse_forwarded(expressions)
        return self

    def returns(self: _D, type_info: TypeInformation) -> _D:
        """Python records carry their types: this checks that one was given, and changes nothing."""
        if not isinstance(type_info, TypeInformation):
            raise ConfigurationError(f"returns: expected a TypeInformation such as Types.STRING(), got {type_info!r}")
        return self

    # --- record by record ---------------------------------------------------------------------------

    def map(self, mapper: Any) -> DataSet:
        """One result per record."""
        return self._apply("Map", as_map_function(mapper), "map")

    def flat_map(self, flat_mapper: Any) -> DataSet:
        """Any number of results per record."""
        return self._apply("FlatMap", as_flat_map_function(flat_mapper), "flat_map")

    def filter(self, condition: Any) -> DataSet:
        """Only the records for which the condition is true."""
        return self._apply("Filter", as_filter_function(condition), "filter")

    def map_partition(self, map_partition: Any) -> DataSet:
        """A function of all records of a task; takes an iterable and yields results."""
        function = as_function(map_partition, "map_partition", (MapPartitionFunction,), "map_partition", 1)
        return self._apply("MapPartition", function, "map_partition")

    def project(self, *fields: int) -> DataSet:
        """Tuples of some fields of tuples, in this order."""
        if not fields:
            raise ConfigurationError("project: name at least one field, by position or name")
        keys = as_keys(fields, "project")
        result = self.map(_Projection(keys.extractor(), len(fields))).name(f"Project {keys}")
        result.node.forwarded[0] = {field: place for place, field in enumerate(keys.fields)}
        return result

    def _apply(self, name: str, function: Any, method: str) -> DataSet:
        node = ApplyNode(name, user_call_site(), (self._node,), function=function, method=method)
        node.forwarded = dict(getattr(function, "forwarded_input_fields", {}))
        return DataSet(self._environment, node)

    # --- all records --------------------------------------------------------------------------------

    def reduce(self, reducer: Any) -> DataSet:
        """All records reduced to one, two at a time. An empty data set stays empty."""
        function = as_reduce_function(reducer)
        return self._with(ReduceNode("Reduce", user_call_site(), (self._node,), function=function))

    def reduce_group(self, reducer: Any) -> DataSet:
        """A function of all records; takes an iterable and yields results. Runs in one task."""
        return self._with(group_reduce(self._node, None, (), reducer))

    def combine_group(self, combiner: Any) -> DataSet:
        """A function of the records of each task, to be combined further."""
        function = as_function(combiner, "combine_group", (GroupCombineFunction,), "combine", 1)
        return self._with(CombineGroupNode("CombineGroup", user_call_site(), (self._node,), function=function))

    def aggregate(self, aggregation: Aggregations, field: int | str) -> AggregateOperator:
        """The sum, minimum or maximum of a field over all records; more with ``.and_(aggregation, field)``.

        The other fields of the result are those of any record.
        """
        return aggregated(self._environment, self._node, None, aggregation, field)

    def distinct(self, *keys: Any) -> DataSet:
        """One record per key: fields, or a function of the record; the record itself if none is given."""
        found = as_keys(keys, "distinct")
        return self._with(DistinctNode(f"Distinct {found}", user_call_site(), (self._node,), keys=found))

    def group_by(self, *keys: Any) -> UnsortedGrouping:
        """Group records by fields (positions or names) or by a function of the record."""
        from firesteel.dataset.grouping import UnsortedGrouping

        if not keys:
            raise ConfigurationError("group_by: name at least one field, or give a function of the record")
        return UnsortedGrouping(self._environment, self._node, as_keys(keys, "group_by"))

    def first(self, n: int) -> DataSet:
        """Any ``n`` records; for the first by some order, sort before."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ConfigurationError(f"first: expected a whole number of at least 1, got {n!r}")
        return self._with(FirstNode(f"First {n}", user_call_site(), (self._node,), count=n))

    # --- two data sets ------------------------------------------------------------------------------

    def join(self, other: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES) -> JoinOperatorSets:
        """Pairs with the same key: ``.where(key).equal_to(key)``, then ``.with_(function)`` or a projection."""
        return self._join(other, JoinKind.INNER, hint)

    def join_with_tiny(self, other: DataSet) -> JoinOperatorSets:
        """A join whose other side is small: it is sent to every task."""
        return self._join(other, JoinKind.INNER, JoinHint.BROADCAST_HASH_SECOND)

    def join_with_huge(self, other: DataSet) -> JoinOperatorSets:
        """A join whose other side is large: this one is sent to every task."""
        return self._join(other, JoinKind.INNER, JoinHint.BROADCAST_HASH_FIRST)

    def left_outer_join(self, other: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES) -> JoinOperatorSets:
        """A join that keeps records of this side without a partner: the other one is None then."""
        return self._join(other, JoinKind.LEFT, hint)

    def right_outer_join(self, other: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES) -> JoinOperatorSets:
        """A join that keeps records of the other side without a partner: this one is None then."""
        return self._join(other, JoinKind.RIGHT, hint)

    def full_outer_join(self, other: DataSet, hint: JoinHint = JoinHint.OPTIMIZER_CHOOSES) -> JoinOperatorSets:
        """A join that keeps the records of both sides without a partner."""
        return self._join(other, JoinKind.FULL, hint)

    def _join(self, other: DataSet, kind: JoinKind, hint: JoinHint) -> JoinOperatorSets:
        from firesteel.dataset.joining import JoinOperatorSets

        self._same_environment(other, kind.value.replace(" ", "_"))
        return JoinOperatorSets(self, other, kind, hint)

    def co_group(self, other: DataSet) -> CoGroupOperatorSets:
        """All records of a key from both sides: ``.where(key).equal_to(key).with_(function)``."""
        from firesteel.dataset.joining import CoGroupOperatorSets

        self._same_environment(other, "co_group")
        return CoGroupOperatorSets(self, other)

    def cross(self, other: DataSet) -> CrossOperator:
        """All pairs; ``.with_(function)`` makes something else of them."""
        return self._cross(other, None)

    def cross_with_tiny(self, other: DataSet) -> CrossOperator:
        """All pairs, the other side small: it is sent to every task."""
        return self._cross(other, 1)

    def cross_with_huge(self, other: DataSet) -> CrossOperator:
        """All pairs, the other side large: this one is sent to every task."""
        return self._cross(other, 0)

    def _cross(self, other: DataSet, small: int | None) -> CrossOperator:
        self._same_environment(other, "cross")
        node = CrossNode("Cross", user_call_site(), (self._node, other.node), small=small)
        return CrossOperator(self._environment, node)

    def union(self, other: DataSet) -> DataSet:
        """The records of both."""
        self._same_environment(other, "union")
        return self._with(UnionNode("Union", user_call_site(), (self._node, other.node)))

    # --- where records are --------------------------------------------------------------------------

    def partition_by_hash(self, *keys: Any) -> PartitionedDataSet:
        """Deal records out by the hash of a key: those of a key are together."""
        return self._partition("hash", as_keys(keys, "partition_by_hash"))

    def partition_by_range(self, *keys: Any) -> PartitionedDataSet:
        """Deal records out by ranges of a key, found by a sample: task 0 gets the smallest keys."""
        return self._partition("range", as_keys(keys, "partition_by_range"))

    def partition_custom(self, partitioner: Any, *keys: Any) -> PartitionedDataSet:
        """Deal records out by a function of a key and the number of tasks."""
        function = as_partitioner(partitioner)
        return self._partition("custom", as_keys(keys, "partition_custom"), function)

    def rebalance(self) -> DataSet:
        """Deal records out evenly."""
        return self._partition("rebalance", Keys())

    def _partition(self, method: str, keys: Keys, partitioner: Any = None) -> PartitionedDataSet:
        node = PartitionNode(
            "Rebalance" if method == "rebalance" else f"Partition {keys}",
            user_call_site(),
            (self._node,),
            keys=keys,
            method=method,
            partitioner=partitioner,
        )
        return PartitionedDataSet(self._environment, node)

    def sort_partition(self, field: Any, order: Order = Order.ASCENDING) -> SortedPartitionDataSet:
        """Sort the records of each task by a field or a function; call it again on the result for further fields."""
        node = SortPartitionNode("SortPartition", user_call_site(), (self._node,), order=(sort_key(field, order),))
        return SortedPartitionDataSet(self._environment, node)

    # --- iterations ---------------------------------------------------------------------------------

    def iterate(self, max_iterations: int) -> IterativeDataSet:
        """Begin an iteration with this data set; ``close_with(result)`` ends its step."""
        from firesteel.dataset.iteration import IterativeDataSet

        return IterativeDataSet(self, max_iterations)

    def iterate_delta(self, workset: DataSet, max_iterations: int, *keys: Any) -> DeltaIteration:
        """Begin an iteration that changes parts of this data set, the solution set, found by its key."""
        from firesteel.dataset.iteration import DeltaIteration

        self._same_environment(workset, "iterate_delta")
        return DeltaIteration(self, workset, max_iterations, as_keys(keys, "iterate_delta"))

    def run_operation(self, operation: Callable[[DataSet], Any]) -> Any:
        """Apply something that makes a data set out of one: ``operation(self)``."""
        return operation(self)

    # --- results ------------------------------------------------------------------------------------

    def collect(self) -> list[Any]:
        """Run the program for this data set alone, and get its records: in order of tasks."""
        return self._environment.collect(self)

    def count(self) -> int:
        """Run the program for this data set alone, and count its records."""
        return self._environment.count(self)

    def print(self, sink_identifier: str | None = None) -> None:
        """Run the program for this data set alone, and print its records."""
        prefix = f"{sink_identifier}> " if sink_identifier else ""
        for record in self.collect():
            sys.stdout.write(f"{prefix}{record}\n")

    def print_to_err(self) -> None:
        """The same to standard error."""
        for record in self.collect():
            sys.stderr.write(f"{record}\n")

    def print_on_task_manager(self, prefix: str) -> DataSink:
        """Print the records where they are made, when the program is executed: in the logs of the workers."""
        return self._sink("Print", PrintTarget(prefix))

    def write_as_text(self, path: str, write_mode: WriteMode = WriteMode.NO_OVERWRITE) -> DataSink:
        """Write a line per record: one file if the sink has parallelism 1, else a folder with a file per task."""
        return self._sink("Text sink", TextTarget(path, write_mode, str))

    def write_as_formatted_text(
        self, path: str, formatter: Callable[[Any], str], write_mode: WriteMode = WriteMode.NO_OVERWRITE
    ) -> DataSink:
        """Write what a function makes of each record."""
        return self._sink("Text sink", TextTarget(path, write_mode, formatter))

    def write_as_csv(
        self,
        path: str,
        row_delimiter: str = "\n",
        field_delimiter: str = ",",
        write_mode: WriteMode = WriteMode.NO_OVERWRITE,
        quote_strings: bool = False,
    ) -> DataSink:
        """Write tuples as lines of fields; None as an empty field."""
        return self._sink("CSV sink", CsvTarget(path, write_mode, row_delimiter, field_delimiter, quote_strings))

    def output(self, output_format: OutputFormat) -> DataSink:
        """Write with an output format of your own."""
        if not isinstance(output_format, OutputFormat):
            raise ConfigurationError(f"output: expected an OutputFormat, got {output_format!r:.100}")
        return self._sink(type(output_format).__name__, FormatTarget(output_format))

    def _sink(self, name: str, target: Target) -> DataSink:
        sink = DataSink(self._environment, SinkNode(name, user_call_site(), (self._node,), target=target))
        self._environment.add_sink(sink)
        return sink

    # --- helpers ------------------------------------------------------------------------------------

    def _with(self, node: Node) -> DataSet:
        node.forwarded = dict(getattr(getattr(node, "function", None), "forwarded_input_fields", {}))
        return DataSet(self._environment, node)

    def _same_environment(self, other: Any, where: str) -> None:
        if not isinstance(other, DataSet):
            raise ConfigurationError(f"{where}: expected a DataSet, got {other!r:.100}")
        if other.get_execution_environment() is not self._environment:
            raise ConfigurationError(f"{where}: both data sets must be of the same environment")


class AggregateOperator(DataSet):
    """An aggregated data set; further aggregations of the same records can be added."""

    def and_(self, aggregation: Aggregations, field: int | str) -> AggregateOperator:
        """Aggregate another field too."""
        node = self._node
        assert isinstance(node, AggregateNode)
        return aggregated(self._environment, node.inputs[0], node.keys, aggregation, field, node.steps)


class CrossOperator(DataSet):
    """All pairs of two data sets."""

    def with_(self, function: Any) -> DataSet:
        """Make something else of each pair."""
        assert isinstance(self._node, CrossNode)
        self._node.function = as_function(function, "cross", (CrossFunction,), "cross", 2, emits=False)
        self._node.forwarded = dict(getattr(self._node.function, "forwarded_input_fields", {}))
        return DataSet(self._environment, self._node)

    def project_first(self, *fields: int | str) -> CrossOperator:
        """Keep these fields of the first record, or all of it; call more to add more."""
        return self._project(0, fields)

    def project_second(self, *fields: int | str) -> CrossOperator:
        """Keep these fields of the second record, or all of it; call more to add more."""
        return self._project(1, fields)

    def _project(self, side: int, fields: tuple[int | str, ...]) -> CrossOperator:
        assert isinstance(self._node, CrossNode)
        self._node.projection += tuple((side, field) for field in fields or (None,))
        return self


class PartitionedDataSet(DataSet):
    """Records dealt out anew."""

    def with_orders(self, *orders: Order) -> PartitionedDataSet:
        """For ranges: in which direction each field of the key goes."""
        node = self._node
        assert isinstance(node, PartitionNode)
        if node.method != "range" or len(orders) != len(node.keys.fields or (None,)):
            raise ConfigurationError(
                f"with_orders: expected an order for each field of partition_by_range{node.keys}, got {len(orders)}"
            )
        fields = [Keys(fields=(field,)) for field in node.keys.fields] or [node.keys]
        node.order = tuple(zip(fields, orders))
        return self


class SortedPartitionDataSet(DataSet):
    """Records sorted within each task."""

    def sort_partition(self, field: Any, order: Order = Order.ASCENDING) -> SortedPartitionDataSet:
        """Sort records that are equal so far by another field."""
        node = self._node
        assert isinstance(node, SortPartitionNode)
        further = SortPartitionNode(node.name, node.call_site, node.inputs, order=(*node.order, sort_key(field, order)))
        further.parallelism = node.parallelism
        return SortedPartitionDataSet(self._environment, further)


class DataSink:
    """Where records are written when the program is executed."""

    def __init__(self, environment: ExecutionEnvironment, node: SinkNode) -> None:
        self._environment = environment
        self.node = node

    def name(self, name: str) -> DataSink:
        """Name the sink, for plans and errors."""
        self.node.name = name
        return self

    def set_parallelism(self, parallelism: int) -> DataSink:
        """In how many tasks it writes; with 1, files are written as one."""
        DataSet(self._environment, self.node).set_parallelism(parallelism)
        return self


class _Projection:
    """Tuples out of extracted fields."""

    def __init__(self, extract: Callable[[Any], Any], count: int) -> None:
        self._extract = extract
        self._one = count == 1

    def __call__(self, record: Any) -> tuple[Any, ...]:
        values = self._extract(record)
        return (values,) if self._one else values


def sort_key(field: Any, order: Order) -> tuple[Keys, Order]:
    """A field or function to sort by."""
    if not isinstance(order, Order):
        raise ConfigurationError(f"expected Order.ASCENDING or Order.DESCENDING, got {order!r}")
    return as_keys((field,), "sort"), order


def group_reduce(
    source: Node, keys: Keys | None, order: tuple[tuple[Keys, Order], ...], reducer: Any
) -> GroupReduceNode:
    """The node of a group reduction."""
    function = as_function(reducer, "reduce_group", (GroupReduceFunction,), "reduce", 1)
    combines = callable(getattr(function, "combine", None))
    node = GroupReduceNode(
        "GroupReduce", user_call_site(), (source,), keys=keys, order=order, function=function, combines=combines
    )
    node.forwarded = dict(getattr(function, "forwarded_input_fields", {}))
    return node


def aggregated(
    environment: ExecutionEnvironment,
    source: Node,
    keys: Keys | None,
    aggregation: Aggregations,
    field: int | str,
    before: Iterable[tuple[str, int | str]] = (),
) -> AggregateOperator:
    """An aggregation, after those that were there before."""
    if not isinstance(aggregation, Aggregations):
        raise ConfigurationError(f"aggregate: expected one of Aggregations.SUM, MIN, MAX, got {aggregation!r}")
    position = as_keys((field,), "aggregate").fields[0]
    steps = (*before, (aggregation.value, position))
    name = f"Aggregate {', '.join(f'{kind} {place}' for kind, place in steps)}"
    return AggregateOperator(environment, AggregateNode(name, user_call_site(), (source,), keys=keys, steps=steps))
