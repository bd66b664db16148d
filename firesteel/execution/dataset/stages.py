"""The code of each kind of step: from the RDDs of its inputs to its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from firesteel.dataset.keys import Keys, whole_record
from firesteel.dataset.plan import nodes
from firesteel.dataset.plan.optimizer import BROADCAST, Step
from firesteel.errors import ProgramError
from firesteel.execution.dataset import kernels
from firesteel.execution.dataset.exchange import records_of
from firesteel.execution.dataset.joins import LocalJoin
from firesteel.execution.dataset.task import Packed, Superstep, TaskSettings, run_task
from firesteel.model.functions.adapt import bound_call, emitting

if TYPE_CHECKING:
    from firesteel.execution.dataset.translation import Translation

Work = Callable[[Iterator[Any]], Iterable[Any]]
Rdd = Any


def stage(rdd: Rdd, settings: TaskSettings, function: Any, work: Callable[[Any], Work], keeps: bool = True) -> Rdd:
    """A step on an RDD.

    :param work: From the function, as it is in the task, to what is done with the task's records.
    :param keeps: Whether records of a key that are together stay together; if not, this is what a step does before
        it exchanges them.
    """
    packed = Packed((function, work), settings.info)
    settings = settings if keeps else replace(settings, phase=1)

    def task(index: int, records: Iterator[Any]) -> Iterator[Any]:
        own_function, own_work = packed.load()
        return run_task(settings, index, own_function, own_work(own_function), records)

    return rdd.mapPartitionsWithIndex(task, preservesPartitioning=keeps)


# --- one record, or one task, at a time -------------------------------------------------------------


def apply(translation: Translation, step: Step) -> Rdd:
    """map, flat_map, filter, map_partition."""
    node = step.node
    assert isinstance(node, nodes.ApplyNode)
    return stage(translation.shipped(step, 0), translation.settings(step), node.function, _WORK[node.method])


def _map(function: Any) -> Work:
    return partial(map, bound_call(function, "map"))


def _filter(function: Any) -> Work:
    return partial(filter, bound_call(function, "filter"))


def _flat_map(function: Any) -> Work:
    call = emitting(function, "flat_map", 1)
    return lambda records: (result for record in records for result in call(record) or ())


def _map_partition(function: Any) -> Work:
    call = emitting(function, "map_partition", 1)
    return lambda records: call(records) or ()


def work_of(node: nodes.ApplyNode) -> Callable[[Any], Work]:
    """What a step does with records, given its function."""
    return _WORK[node.method]


def at_superstep(settings: TaskSettings, superstep: Superstep) -> TaskSettings:
    """The same settings in a superstep."""
    return replace(settings, superstep=superstep)


_WORK = {"map": _map, "filter": _filter, "flat_map": _flat_map, "map_partition": _map_partition}


def sort_partition(translation: Translation, step: Step) -> Rdd:
    """Sort within each task."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.SortPartitionNode)
    order = node.order
    return stage(
        translation.shipped(step, 0),
        settings,
        None,
        lambda _: lambda records: kernels.sorted_records(kernels.weighed(records), order, settings.memory),
    )


def combine_group(translation: Translation, step: Step) -> Rdd:
    """A function of the records of a key in each task."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.CombineGroupNode)
    extract = (lambda record: None) if node.keys is None else node.keys.extractor()
    order = node.order
    return stage(
        translation.shipped(step, 0),
        settings,
        node.function,
        lambda function: (
            lambda records: kernels.groups_combined(records, extract, order, emitting(function, "combine", 1))
        ),
    )


# --- by key -----------------------------------------------------------------------------------------


def reduce(translation: Translation, step: Step) -> Rdd:
    """Reduce: in each task first, then after an exchange."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.ReduceNode)
    if node.keys is None:
        reduced = stage(translation.input(step, 0), settings, node.function, _reduce_all, keeps=False)
        return stage(translation.gathered(reduced, step), settings, node.function, _reduce_all)
    extract = node.keys.extractor()

    def before(function: Any) -> Work:
        return lambda records: kernels.combined(records, extract, bound_call(function, "reduce"))

    def after(function: Any) -> Work:
        return lambda rows: kernels.reduced(rows, extract, bound_call(function, "reduce"), settings.memory)

    return _combining(translation, step, node.function, before, after)


def _reduce_all(function: Any) -> Work:
    return lambda records: kernels.reduced_to_one(records, bound_call(function, "reduce"))


def aggregate(translation: Translation, step: Step) -> Rdd:
    """Aggregate fields: in each task first, then after an exchange."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.AggregateNode)
    aggregation = kernels.Aggregation(node)
    if node.keys is None:
        whole: Callable[[Any], Work] = lambda _: lambda records: kernels.reduced_to_one(records, aggregation.reduce)  # noqa: E731
        reduced = stage(translation.input(step, 0), settings, None, whole, keeps=False)
        return stage(translation.gathered(reduced, step), settings, None, whole)
    extract = node.keys.extractor()
    return _combining(
        translation,
        step,
        None,
        lambda _: lambda records: aggregation.combined(iter(records), extract),
        lambda _: lambda rows: aggregation.aggregated(rows, extract, settings.memory),
    )


def distinct(translation: Translation, step: Step) -> Rdd:
    """One record per key: in each task first, then after an exchange."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.DistinctNode)
    extract = node.keys.extractor()
    return _combining(
        translation,
        step,
        None,
        lambda _: lambda records: kernels.distinct(records, extract),
        lambda _: lambda rows: kernels.distinct_after(rows, extract, settings.memory),
    )


def _combining(
    translation: Translation,
    step: Step,
    function: Any,
    before: Callable[[Any], Work],
    after: Callable[[Any], Work],
) -> Rdd:
    """Work on what each task has, exchange the results, work on these; no exchange if records are together."""
    settings = translation.settings(step)
    source = translation.input(step, 0)
    if step.ships[0].kept:
        return stage(translation.local_chunks(source, step, 0), settings, function, after)
    combined = stage(source, settings, function, before, keeps=False)
    return stage(translation.exchanged(combined, step, 0), settings, function, after)


def group_reduce(translation: Translation, step: Step) -> Rdd:
    """A function of all records of a key, or of all there are."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.GroupReduceNode)
    order, source = node.order, translation.input(step, 0)
    if node.combines and not step.ships[0].kept:
        extract_first = (lambda record: None) if node.keys is None else node.keys.extractor()
        source = stage(
            source,
            settings,
            node.function,
            lambda function: (
                lambda records: kernels.groups_combined(records, extract_first, order, emitting(function, "combine", 1))
            ),
            keeps=False,
        )
    if node.keys is None:
        return stage(translation.gathered(source, step), settings, node.function, _reduce_everything)
    extract = node.keys.extractor()

    def after(function: Any) -> Work:
        emit = emitting(function, "reduce", 1)
        return lambda rows: kernels.group_reduced(rows, extract, order, emit, settings.memory)

    rows = (
        translation.local_chunks(source, step, 0)
        if step.ships[0].kept
        else translation.exchanged(source, step, 0)
        if node.combines
        else translation.exchange_of(step, 0)
    )
    return stage(rows, settings, node.function, after)


def _reduce_everything(function: Any) -> Work:
    """All records are one group; without records there is none."""

    def work(records: Iterator[Any]) -> Iterator[Any]:
        for first in records:
            yield from emitting(function, "reduce", 1)(_after_first(first, records)) or ()
            return

    return work


def _after_first(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


# --- two inputs -------------------------------------------------------------------------------------


def join(translation: Translation, step: Step) -> Rdd:
    """Pairs with the same key."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.JoinNode)
    extractors = (node.first.extractor(), node.second.extractor())
    result = _of_pairs(node)
    shipped = [ship.kind for ship in step.ships]
    if BROADCAST in shipped:
        build = shipped.index(BROADCAST)
        table, local = translation.broadcast_of(step, build), LocalJoin(node.join, build, extractors, settings.memory)
        return stage(
            translation.input(step, 1 - build),
            settings,
            node.function,
            lambda function: lambda records: result(function, local.broadcast_join(table.value, records)),
        )
    merge = "sort-merge" in step.local
    build = 0 if merge or "first" in step.local else 1
    local = LocalJoin(node.join, build, extractors, settings.memory)
    rows, sides = translation.co_partitioned(step, first=build)

    def work(function: Any) -> Work:
        return lambda rows: result(function, local.merge_join(rows, sides) if merge else local.hash_join(rows, sides))

    return stage(rows, settings, node.function, work)


def _of_pairs(node: Any) -> Callable[[Any, Iterator[tuple[Any, Any]]], Iterable[Any]]:
    """What becomes of pairs: what the function or the projection says, or nothing."""
    if node.function is not None:
        if getattr(node, "method", "join") == "flat_join":
            return _flat_joined
        method = "cross" if isinstance(node, nodes.CrossNode) else "join"
        return partial(_joined, method)
    if node.projection:
        return partial(_projected, _projectors(node.projection))
    return lambda function, pairs: pairs


def _joined(method: str, function: Any, pairs: Iterator[tuple[Any, Any]]) -> Iterator[Any]:
    call = bound_call(function, method)
    return (call(first, second) for first, second in pairs)


def _flat_joined(function: Any, pairs: Iterator[tuple[Any, Any]]) -> Iterator[Any]:
    call = emitting(function, "join", 2)
    return (result for first, second in pairs for result in call(first, second) or ())


def _projectors(projection: Iterable[tuple[int, int | str | None]]) -> list[tuple[int, Callable[[Any], Any]]]:
    return [(side, whole_record if field is None else Keys(fields=(field,)).extractor()) for side, field in projection]


def _projected(
    projectors: list[tuple[int, Callable[[Any], Any]]], function: Any, pairs: Iterator[tuple[Any, Any]]
) -> Iterator[Any]:
    return (tuple(get(pair[side]) for side, get in projectors) for pair in pairs)


def co_group(translation: Translation, step: Step) -> Rdd:
    """All records of a key from both inputs."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.CoGroupNode)
    extractors = (node.first.extractor(), node.second.extractor())
    orders = (node.first_order, node.second_order)
    rows, sides = translation.co_partitioned(step, first=0)

    def work(function: Any) -> Work:
        emit = emitting(function, "co_group", 2)
        return lambda rows: kernels.co_grouped(rows, sides, extractors, orders, emit, settings.memory)

    return stage(rows, settings, node.function, work)


def cross(translation: Translation, step: Step) -> Rdd:
    """All pairs."""
    node = step.node
    assert isinstance(node, nodes.CrossNode)
    small = [ship.kind for ship in step.ships].index(BROADCAST)
    table, result = translation.broadcast_of(step, small), _of_pairs(node)

    def work(function: Any) -> Work:
        def pairs(records: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
            for record in records:
                for other in table.value:
                    yield (other, record) if small == 0 else (record, other)

        return lambda records: result(function, pairs(records))

    return stage(translation.input(step, 1 - small), translation.settings(step), node.function, work)


# --- where records are ------------------------------------------------------------------------------


def partition(translation: Translation, step: Step) -> Rdd:
    """Deal records out anew."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.PartitionNode)
    if step.ships[0].kept:
        return translation.input(step, 0)
    rows = translation.range_exchange(step) if node.method == "range" else translation.exchange_of(step, 0)
    return stage(rows, settings, None, lambda _: records_of)


def first(translation: Translation, step: Step) -> Rdd:
    """Any so many records."""
    node, settings = step.node, translation.settings(step)
    assert isinstance(node, nodes.FirstNode)
    count = node.count

    def some(_: Any) -> Work:
        return lambda records: (record for _, record in zip(range(count), records))

    here = stage(translation.input(step, 0), settings, None, some, keeps=False)
    return stage(translation.gathered(here, step), settings, None, some)


def index(translation: Translation, step: Step) -> Rdd:
    """Number the records."""
    node = step.node
    assert isinstance(node, nodes.IndexNode)
    source = translation.input(step, 0)
    numbered = source.zipWithIndex() if node.consecutive else source.zipWithUniqueId()
    return numbered.map(lambda pair: (pair[1], pair[0]))


def union(translation: Translation, step: Step) -> Rdd:
    """The records of all inputs."""
    inputs = [translation.input(step, place) for place in range(len(step.node.inputs))]
    return translation.context.union(inputs)


def sink(translation: Translation, step: Step) -> Rdd:
    """Write the records: each task its own."""
    node = step.node
    assert isinstance(node, nodes.SinkNode)
    tasks, settings = step.tasks, translation.settings(step)
    packed = Packed(node.target, settings.info)

    def task(number: int, records: Iterator[Any]) -> Iterator[Any]:
        def work(records: Iterator[Any]) -> Iterable[Any]:
            packed.load().write(number, tasks, records)
            return ()

        return run_task(settings, number, None, work, records)

    return translation.shipped(step, 0).mapPartitionsWithIndex(task)


def no_step(translation: Translation, step: Step) -> Rdd:
    """The input of a step outside its iteration."""
    raise ProgramError(
        f"{step.node.name!r} (made at {step.node.call_site}) is the data set of an iteration, used outside of it. "
        "Use what close_with() gives"
    )
