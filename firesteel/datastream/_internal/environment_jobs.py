"""The part of an environment that runs what was built."""

from __future__ import annotations

import uuid
from html import escape
from typing import Any

from firesteel.common import options
from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.cache import Cache, CacheSink
from firesteel.datastream._internal.driver_sinks import PrintSink
from firesteel.datastream._internal.environment_settings import EnvironmentSettings
from firesteel.datastream._internal.hints import ON_ENVIRONMENT, StreamHints
from firesteel.datastream.execution_mode import RuntimeExecutionMode
from firesteel.datastream.time_characteristic import TimeCharacteristic
from firesteel.errors import FiresteelError, ProgramError, interrupted
from firesteel.model.sink import DriverSink
from firesteel.plan.builder import GraphBuilder
from firesteel.plan.compiler import CompileSettings, compile_graph
from firesteel.plan.executor import executor_for
from firesteel.plan.explain import execution_plan_json, explain_text
from firesteel.plan.graph import IterationTransformation, OperatorTransformation, PhysicalTransformation, StreamGraph
from firesteel.plan.job_plan import JobPlan
from firesteel.plan.picture import plan_svg
from firesteel.state.key_groups import DEFAULT_MAX_PARALLELISM

DEFAULT_JOB_NAME = "Firesteel Streaming Job"


class EnvironmentJobs(EnvironmentSettings, StreamHints):
    """The part of an environment that runs jobs.

    :ivar graph: Makes the nodes of the program: for libraries; programs call methods of streams.
    :ivar caches: The records that are kept between jobs.
    """

    _hints = ON_ENVIRONMENT

    def __init__(self, configuration: Configuration | None = None, spark: Any | None = None) -> None:
        super().__init__(configuration, spark)
        self.graph = GraphBuilder()
        self.caches: list[Cache] = []

    def __repr__(self) -> str:
        parallelism = self._configuration.get(options.PARALLELISM)
        parts = [
            f"on {self._configuration.get(options.EXECUTION_TARGET)}",
            *([] if parallelism is None else [f"parallelism {parallelism}"]),
            f"{len(self.graph.graph.transformations)} steps and {len(self.graph.graph.sinks())} sinks to be executed",
        ]
        return f"StreamExecutionEnvironment({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a picture of what is to be executed, where the plan is known without a cluster."""
        text = f"<pre>{escape(repr(self))}</pre>"
        known = self._configuration.get(options.PARALLELISM) is not None
        if not known or not self.graph.graph.sinks():
            return text
        try:
            return text + plan_svg(self._compile(self.graph.graph, None))
        except FiresteelError as error:  # a program may be looked at before it is right
            return f"{text}<pre>{escape(str(error))}</pre>"

    # ---- running -------------------------------------------------------------------------------------------

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run everything that was built since the last job, and wait for its end.

        A job whose sources all end ends by itself; others run until they are cancelled (Ctrl-C).

        :raises JobFailedError: If the job fails; its message begins with the error of the user's function.
        """
        name = job_name or self._configuration.get(options.PIPELINE_NAME) or DEFAULT_JOB_NAME
        try:
            return self._execute(job_name, detached=False).get_job_execution_result().result()
        except KeyboardInterrupt:
            raise interrupted(f"job {name!r} was interrupted and has ended") from None

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the job and return at once, with a client to watch, await and cancel it.

        ::

            client = env.execute_async("endless")
            ...
            client.cancel().result()
        """
        return self._execute(job_name, detached=True)

    def get_execution_plan(self) -> str:
        """The plan of the job as JSON: each operator with its parallelism, and how records travel between them.

        Nothing is run and nothing forgotten. The program needs a sink.
        """
        plan = self._compile(self.graph.graph, None)
        self.graph.looked_at()
        return execution_plan_json(plan)

    def explain(self) -> str:
        """The plan of the job as text: levels, chains, and how records travel between them."""
        plan = self._compile(self.graph.graph, None)
        self.graph.looked_at()
        return explain_text(plan)

    def close(self) -> None:
        """Forget what was built and not run, and the records of cached streams."""
        for cached in self.caches:
            cached.invalidate()
        self.caches.clear()
        self.graph.clear()

    # ---- inside --------------------------------------------------------------------------------------------

    def _execute(self, job_name: str | None, detached: bool) -> JobClient:
        """Compile and submit what was built; the graph is empty afterwards."""
        graph, sinks = self._graph_with_caches()
        plan = self._compile(graph, job_name)
        self._set_printers()
        sinks.update(self.graph.driver_sinks)
        executor = executor_for(self._configuration, self._session)
        self.graph.clear()
        return executor.submit(plan, sinks, detached)

    def _compile(self, graph: StreamGraph, job_name: str | None) -> JobPlan:
        if job_name is not None:
            arguments.text("execute", "job_name", job_name)
        if not self.graph.graph.sinks():
            raise ProgramError(
                "the program has no sink, so running it would do nothing that anybody could see. "
                "End at least one stream with print(), add_sink() or sink_to(), or use execute_and_collect()."
            )
        self._require_uids()
        self._set_ingestion_time()
        max_parallelism = self.get_max_parallelism()
        settings = CompileSettings(
            job_name=job_name or self._configuration.get(options.PIPELINE_NAME) or DEFAULT_JOB_NAME,
            default_parallelism=self.get_parallelism(),
            max_parallelism=max_parallelism if max_parallelism > 0 else DEFAULT_MAX_PARALLELISM,
            chaining=self.is_chaining_enabled(),
            batch_mode=self._is_batch(),
            job_parameters=self._config.get_global_job_parameters(),
            serializers=tuple(self._config.get_registered_serializers().items()),
            cached_files=dict(self._cached_files),
        )
        return compile_graph(graph, self._configuration.clone(), settings)

    def _graph_with_caches(self) -> tuple[StreamGraph, dict[str, DriverSink]]:
        """The graph for one job: what was built, and operators that fill the caches that are part of it."""
        graph = StreamGraph(self.graph.graph.transformations)
        sinks: dict[str, DriverSink] = {}
        for cache in self.caches:
            if not cache.is_filled and self.graph.contains(cache.node):
                collector_id = uuid.uuid4().hex
                sinks[collector_id] = CacheSink(cache)
                for node in cache.capture(collector_id):
                    graph.add(node)
        return graph, sinks

    def _set_printers(self) -> None:
        """Tell printers the parallelism of their sinks, which may have been set after print()."""
        for node in self.graph.graph.transformations:
            if isinstance(node, OperatorTransformation) and node.collector_id is not None:
                sink = self.graph.driver_sinks.get(node.collector_id)
                if isinstance(sink, PrintSink):
                    sink.parallelism = node.parallelism or self.get_parallelism()

    def _set_ingestion_time(self) -> None:
        """Sources without a watermark strategy of their own follow the environment's time characteristic."""
        ingestion = self.get_stream_time_characteristic() is TimeCharacteristic.IngestionTime
        for node in self.graph.graph.sources():
            node.ingestion_time = ingestion and node.watermark_strategy is None

    def _is_batch(self) -> bool:
        graph = self.graph.graph
        mode = RuntimeExecutionMode[self._value(options.RUNTIME_MODE)]
        if mode is RuntimeExecutionMode.BATCH:
            require_bounded(graph, "the runtime mode BATCH", "Set the runtime mode STREAMING or AUTOMATIC")
            return True
        iterates = any(isinstance(node, IterationTransformation) for node in graph.transformations)
        return mode is RuntimeExecutionMode.AUTOMATIC and not iterates and not graph.unbounded_sources()

    def _require_uids(self) -> None:
        """Without automatic uids every operator has to say its own."""
        if self._config.has_auto_generated_uids_enabled():
            return
        for node in self.graph.graph.transformations:
            if isinstance(node, PhysicalTransformation) and node.uid is None:
                raise ProgramError(
                    f"the operator {node.name!r} (made at {node.call_site}) has no uid, and automatic uids are "
                    "disabled. Call uid() on it, or enable_auto_generated_uids() on the ExecutionConfig."
                )


def require_bounded(graph: StreamGraph, what: str, hint: str) -> None:
    """Raise if a source may never end."""
    for node in graph.unbounded_sources():
        raise ProgramError(
            f"{what} needs sources that end, but {node.name!r} (made at {node.call_site}) may run for ever. "
            f"{hint}, or use a bounded source."
        )
