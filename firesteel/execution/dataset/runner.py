"""Runs DataSet programs: as Spark jobs, or in this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from firesteel.common import Configuration
from firesteel.common.options import DATASET_MEMORY, EXECUTION_TARGET, GLOBAL_JOB_PARAMETERS
from firesteel.dataset.accumulators import Accumulator
from firesteel.dataset.plan.nodes import Node, SinkNode
from firesteel.dataset.plan.optimizer import Step
from firesteel.errors import FiresteelError, JobFailedError
from firesteel.execution.dataset.in_process import LocalContext, LocalRdd
from firesteel.execution.dataset.task import failure_in
from firesteel.execution.dataset.translation import Engine, Translation
from firesteel.execution.spark.session import spark_session

_LONGEST = 2000
_TEXT_FORMAT = "org.apache.hadoop.mapreduce.lib.input.TextInputFormat"
_OFFSET, _LINE = "org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text"


class _Places:
    """What each task has reported, by its place: a task that is repeated reports the same again, and counts once.

    Has the methods of Spark's AccumulatorParam, without being one: Spark is imported only when it is used.
    """

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {}

    def addInPlace(self, value1: dict[Any, Any], value2: dict[Any, Any]) -> dict[Any, Any]:
        value1.update(value2)
        return value1


class PlanRunner:
    """Carries plans out."""

    def __init__(self, configuration: Configuration, engine: Engine) -> None:
        self._configuration = configuration
        self._engine = engine
        self._context = engine.context
        self._accumulators: dict[str, Any] = {}

    @property
    def default_parallelism(self) -> int:
        """As many tasks as Spark, or this machine, has cores."""
        return max(1, int(self._context.defaultParallelism))

    @property
    def accumulators(self) -> dict[str, Any]:
        """The accumulators of the last run."""
        return self._accumulators

    def run(self, steps: dict[int, Step], ends: Sequence[Node], action: str, name: str) -> Any:
        """Carry out what leads to these nodes."""
        channel = self._context.accumulator({}, _Places())
        translation = Translation(
            self._engine,
            steps,
            self._configuration.get(DATASET_MEMORY),
            channel,
            dict(self._configuration.get(GLOBAL_JOB_PARAMETERS) or {}),  # type: ignore[arg-type]
        )
        self._context.setJobDescription(name)
        try:
            results = [_act(translation, steps, node, action) for node in ends]
            return results[0]
        except FiresteelError:
            raise
        except Exception as error:
            raise _failed(error) from None
        finally:
            self._context.setJobDescription(None)
            for rdd in translation.persisted:
                rdd.unpersist()
            self._accumulators = _merged(channel.value)


def runner_for(configuration: Configuration, session: Any) -> PlanRunner:
    """The runner that ``execution.target`` names.

    :param session: A SparkSession, which says that the program is to run on it; None for the running or a new one.
    """
    if session is None and configuration.get(EXECUTION_TARGET) == "in-process":
        local = LocalContext()
        return PlanRunner(configuration, Engine(local, LocalRdd.persist, LocalRdd.count, local.lines))
    context = (session or spark_session(configuration)).sparkContext
    return PlanRunner(configuration, Engine(context, _persisted, _materialized, partial(_lines, context)))


def _persisted(rdd: Any) -> Any:
    from pyspark import StorageLevel

    return rdd.persist(StorageLevel.MEMORY_AND_DISK)


def _materialized(rdd: Any) -> None:
    rdd._jrdd.count()  # in the JVM: Python need not unpickle what nobody looks at


def _lines(context: Any, path: str, tasks: int, delimiter: str | None, skip_first: bool) -> Any:
    if not skip_first and delimiter is None:
        return context.textFile(path, tasks)
    conf = {} if delimiter is None else {"textinputformat.record.delimiter": delimiter}
    placed = context.newAPIHadoopFile(path, _TEXT_FORMAT, _OFFSET, _LINE, conf=conf)
    if skip_first:
        placed = placed.filter(lambda place_and_line: place_and_line[0] != 0)
    return placed.values()


def _act(translation: Translation, steps: dict[int, Step], node: Node, action: str) -> Any:
    rdd = translation.rdd(node)
    if action == "collect":
        return rdd.collect()
    count = rdd.count()
    if isinstance(node, SinkNode):
        node.target.finish(steps[node.id].tasks)
    return count


def _failed(error: Exception) -> JobFailedError:
    text = str(error)
    failure = failure_in(text)
    if failure is not None:
        return JobFailedError(failure.describe())
    return JobFailedError(f"Spark could not run the program: {type(error).__name__}: {text.strip()[:_LONGEST]}")


def _merged(places: dict[Any, Any]) -> dict[str, Any]:
    """The accumulators of all tasks, merged by name in the order of steps and tasks."""
    merged: dict[str, Accumulator] = {}
    for _, (accumulators, _) in sorted(places.items(), key=lambda entry: entry[0]):
        for name, accumulator in accumulators.items():
            if name in merged:
                merged[name].merge(accumulator)
            else:
                merged[name] = accumulator
    return {name: accumulator.get_local_value() for name, accumulator in merged.items()}
