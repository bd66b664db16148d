"""Where a DataSet program begins: sources, settings, and ``execute``."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from firesteel.common import Configuration, ExecutionConfig, JobExecutionResult, JobID
from firesteel.common.io import InputFormat
from firesteel.dataset.csv import CsvReader
from firesteel.dataset.data_set import DataSet, DataSink
from firesteel.dataset.plan.explain import as_json, as_text
from firesteel.dataset.plan.nodes import CollectionNode, InputFormatNode, Node, SequenceNode, SinkNode, TextNode
from firesteel.dataset.plan.optimizer import Step, optimize
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.plan.graph import user_call_site

__all__ = ["ExecutionEnvironment"]


class Runner(Protocol):
    """Carries plans out: ``firesteel.execution.dataset`` does, on Spark or in this process."""

    @property
    def default_parallelism(self) -> int:
        """In how many tasks steps run if nobody says otherwise."""

    def run(self, steps: dict[int, Step], ends: Sequence[Node], action: str, name: str) -> Any:
        """Carry out what leads to these nodes: ``write`` to sinks, ``collect`` records or ``count`` them."""

    @property
    def accumulators(self) -> dict[str, Any]:
        """The accumulators of the last run."""


class ExecutionEnvironment:
    """Makes data sets and runs programs.

    ::

        env = ExecutionEnvironment.get_execution_environment()
        words = env.read_text_file("book.txt").flat_map(str.split).map(lambda word: (word, 1))
        words.group_by(0).sum(1).write_as_csv("counts")
        env.execute("word count")
    """

    def __init__(self, configuration: Configuration | None = None, session: Any = None) -> None:
        self._configuration = Configuration.from_environment()
        if configuration is not None:
            self._configuration.add_all(configuration)
        self._session = session
        self._config = ExecutionConfig(self._configuration)
        self._parallelism: int | None = None
        self._sinks: list[DataSink] = []
        self._runner: Runner | None = None
        self._last_result: JobExecutionResult | None = None

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, session: Any = None
    ) -> ExecutionEnvironment:
        """An environment on the running Spark session, on the one given, or on a new one.

        :param configuration: The options; those of the configuration file if not given.
        :param session: A SparkSession.
        """
        return ExecutionEnvironment(configuration, session)

    @staticmethod
    def create_collections_environment(configuration: Configuration | None = None) -> ExecutionEnvironment:
        """An environment that runs programs in this process, without Spark: for tests, debugging and small data.

        The same as the option ``execution.target: in-process``. Tasks run one after the other.
        """
        own = Configuration.from_dict({"execution.target": "in-process"})
        if configuration is not None:
            own = configuration.clone().add_all(own)
        return ExecutionEnvironment(own)

    # --- settings -----------------------------------------------------------------------------------

    def set_parallelism(self, parallelism: int) -> ExecutionEnvironment:
        """In how many tasks steps run that do not say otherwise."""
        if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
            raise ConfigurationError(f"set_parallelism: expected a whole number of at least 1, got {parallelism!r}")
        self._parallelism = parallelism
        return self

    def get_parallelism(self) -> int:
        """In how many tasks steps run: as many as Spark has cores, unless it was set."""
        return self._parallelism or self._running().default_parallelism

    def get_config(self) -> ExecutionConfig:
        """The settings of the program."""
        return self._config

    def get_configuration(self) -> Configuration:
        """The options."""
        return self._configuration

    # --- sources ------------------------------------------------------------------------------------

    def from_elements(self, *elements: Any) -> DataSet:
        """The given records."""
        return self.from_collection(elements)

    def from_collection(self, data: Iterable[Any]) -> DataSet:
        """The records of a collection, in order."""
        records = list(data)
        return self._source(CollectionNode(f"Collection of {len(records)}", user_call_site(), records=records))

    def generate_sequence(self, start: int, end: int) -> DataSet:
        """The whole numbers from ``start`` to ``end``, both included."""
        if start > end:
            raise ConfigurationError(f"generate_sequence: it begins with {start} and ends with {end}, which is less")
        return self._source(SequenceNode(f"Sequence {start} to {end}", user_call_site(), first=start, last=end))

    def read_text_file(self, path: str) -> DataSet:
        """The lines of a file, or of all files of a folder; compressed ones too. Any file system that Spark reaches."""
        return self._source(TextNode(f"Text {path}", user_call_site(), path=path))

    def read_csv_file(self, path: str) -> CsvReader:
        """Lines of fields: ``.types(str, int)`` says what they are, and gives the data set."""
        return CsvReader(path, self._source)

    def create_input(self, input_format: InputFormat) -> DataSet:
        """The records of an input format."""
        if not isinstance(input_format, InputFormat):
            raise ConfigurationError(f"create_input: expected an InputFormat, got {input_format!r:.100}")
        name = type(input_format).__name__
        return self._source(InputFormatNode(name, user_call_site(), input_format=input_format))

    def _source(self, node: Node) -> DataSet:
        return DataSet(self, node)

    # --- running ------------------------------------------------------------------------------------

    def add_sink(self, sink: DataSink) -> None:
        """Take note of a sink: ``write_as_text`` and the like do it."""
        self._sinks.append(sink)

    def execute(self, job_name: str = "Firesteel DataSet job") -> JobExecutionResult:
        """Run everything that leads to the sinks defined since the last execution."""
        if not self._sinks:
            raise ProgramError(
                "there is nothing to execute: no sink was defined since the last execution. Call write_as_text(), "
                "write_as_csv() or output() on a data set, or collect(), count() or print(), which run by themselves"
            )
        sinks: list[SinkNode] = [sink.node for sink in self._sinks]
        self._sinks = []
        for node in sinks:
            node.target.prepare(node.parallelism or self.get_parallelism())
        self._run(sinks, "write", job_name)
        assert self._last_result is not None
        return self._last_result

    def collect(self, data_set: DataSet) -> list[Any]:
        """All records of a data set."""
        records: list[Any] = self._run([data_set.node], "collect", "collect")
        return records

    def count(self, data_set: DataSet) -> int:
        """How many records a data set has."""
        count: int = self._run([data_set.node], "count", "count")
        return count

    def get_last_job_execution_result(self) -> JobExecutionResult | None:
        """What is known of the last run: its accumulators and how long it took."""
        return self._last_result

    def get_execution_plan(self) -> str:
        """How the program would be carried out, as JSON."""
        return as_json(self._plan(self._ends()).values())

    def explain(self, *data_sets: DataSet) -> str:
        """How the program, or what leads to these data sets, would be carried out, for people."""
        return as_text(self._plan([each.node for each in data_sets] or self._ends()).values())

    def _ends(self) -> list[Node]:
        if not self._sinks:
            raise ProgramError("no sink was defined since the last execution: there is no plan")
        return [sink.node for sink in self._sinks]

    def _plan(self, ends: Sequence[Node]) -> dict[int, Step]:
        return optimize(ends, self.get_parallelism())

    def _run(self, ends: Sequence[Node], action: str, name: str) -> Any:
        runner = self._running()
        started = time.monotonic()
        result = runner.run(self._plan(ends), ends, action, name)
        runtime = int((time.monotonic() - started) * 1000)
        self._last_result = JobExecutionResult(JobID(), runtime, runner.accumulators)
        return result

    def _running(self) -> Runner:
        if self._runner is None:
            module = importlib.import_module("firesteel.execution.dataset.runner")
            self._runner = module.runner_for(self._configuration, self._session)
        assert self._runner is not None
        return self._runner
