"""What all kinds of streams have in common: a place in the graph. Every call adds to the graph; nothing runs.

The classes that users see are in :mod:`firesteel.datastream.data_stream`. Those here know each other only by what they
have in common, so that no module needs to know the one that needs it: the type variable stands for the class of streams
that operators return.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.environment_jobs import EnvironmentJobs
from firesteel.datastream._internal.hints import ON_DATA_STREAM, StreamHints
from firesteel.datastream._internal.operator_settings import OperatorSettings
from firesteel.errors import ProgramError
from firesteel.model.functions import KeySelector
from firesteel.model.output_tag import OutputTag
from firesteel.plan.graph import PhysicalTransformation, SideOutputTransformation, Transformation
from firesteel.runtime.operator import Operator

S = TypeVar("S", bound="AnyStream[Any]")
_T = TypeVar("_T", bound="AnyStream[Any]")


class AnyStream(OperatorSettings, StreamHints, Generic[S]):
    """A stream of any kind."""

    _hints = ON_DATA_STREAM

    def __init__(self, environment: EnvironmentJobs, transformation: Transformation) -> None:
        self._environment = environment
        self._graph = environment.graph
        self._node = transformation

    # ---- what it is ----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        node = self.get_transformation()
        declared = "" if node.output_type is None else f", type {node.output_type}"
        parallelism = "" if node.parallelism is None else f", parallelism {node.parallelism}"
        return f"{type(self).__name__}({node.name!r}{declared}{parallelism}, made at {node.call_site})"

    def get_name(self) -> str:
        """The name of the operator that makes the records."""
        return self.get_transformation().name

    def get_type(self) -> TypeInformation | None:
        """The declared type of the records, or None if none was declared: any object may flow."""
        return self.get_transformation().output_type

    def get_parallelism(self) -> int:
        """In how many subtasks the records are made."""
        node = self.get_transformation()
        while node.parallelism is None and not isinstance(node, PhysicalTransformation) and len(node.inputs) == 1:
            node = node.inputs[0]
        return self._environment.get_parallelism() if node.parallelism is None else node.parallelism

    @abstractmethod
    def get_execution_environment(self) -> EnvironmentJobs:
        """The environment to which the stream belongs."""

    def get_execution_config(self) -> ExecutionConfig:
        """The execution settings of the environment."""
        return self._environment.get_config()

    def get_transformation(self) -> Transformation:
        """The node of the graph that makes the records."""
        return self._node

    @abstractmethod
    def derive(self, transformation: Transformation) -> S:
        """A stream of the records that another node of the graph makes: for libraries that add nodes of their own."""

    @abstractmethod
    def key_by(
        self,
        key_selector: KeySelector | Callable[[Any], Any] | str | int,
        key_type: TypeInformation | None = None,
    ) -> AnyStream[S]:
        """Split the stream by key."""

    # ---- what is made of it --------------------------------------------------------------------------------

    def transform(
        self, operator_name: str, output_type: TypeInformation | None, operator_factory: Callable[[], Operator]
    ) -> S:
        """Run an operator of one's own on the stream: the door for libraries.

        On a keyed stream the operator has keyed state and timers, and batches come with their keys.

        :param operator_name: How the operator is called in plans, metrics and messages.
        :param operator_factory: Makes a :class:`firesteel.runtime.operator.Operator`, once per subtask, in a worker. It
            is pickled: ``functools.partial(MyOperator, setting)``.
        """
        return self._transform(*own_operator(operator_name, output_type, operator_factory))

    def union(self, *streams: AnyStream[Any]) -> S:
        """All records of this stream and of others. A stream given twice comes twice.

        The event time of the union is that of its slowest input.
        """
        arguments.instances("union", "streams", streams, AnyStream, "a DataStream")
        for stream in streams:
            require_same_environment("union", self, stream)
        if not streams:
            return cast(S, self)  # every kind of stream is a plain one too
        return self.derive(self._graph.union([stream.get_transformation() for stream in (self, *streams)]))

    def get_side_output(self, output_tag: OutputTag) -> S:
        """The records that the function of this operator sent to a tag; empty if it never did.

        ::

            late = OutputTag("late", Types.STRING())
            main = events.process(Split())      # yields ``late, value`` now and then
            main.get_side_output(late).print()
        """
        if not isinstance(output_tag, OutputTag):
            raise arguments.wrong_argument("get_side_output", "output_tag", output_tag, "an OutputTag")
        producer = self.get_transformation()
        if not isinstance(producer, PhysicalTransformation):
            raise ProgramError(
                f"get_side_output({output_tag.tag_id!r}): a {producer.name} stream has no side outputs. "
                "Call it on the stream that process() returned."
            )
        self._check_tag_types(producer, output_tag)
        return self.derive(self._graph.side_output(producer, output_tag))

    def _check_tag_types(self, producer: PhysicalTransformation, tag: OutputTag) -> None:
        """Two tags with one name are one output, so their declared types must agree."""
        for node in self._graph.graph.transformations:
            if (
                isinstance(node, SideOutputTransformation)
                and node.inputs[0] is producer
                and node.tag.tag_id == tag.tag_id
                and node.tag.type_info != tag.type_info
            ):
                raise ProgramError(
                    f"get_side_output({tag.tag_id!r}): two tags of this name have different types on "
                    f"{producer.name!r}: {node.tag.type_info} (at {node.call_site}) and {tag.type_info}. "
                    "Tags with the same name are one output: use one type, or another name."
                )

    # ---- settings of the operator --------------------------------------------------------------------------

    def force_non_parallel(self: _T) -> _T:
        """Run the operator in one subtask, for good: another parallelism is an error from here on."""
        operator = self._operator("force_non_parallel")
        operator.parallelism = 1
        operator.max_parallelism = 1
        operator.fixed_parallelism = True
        return self

    def start_new_chain(self: _T) -> _T:
        """Do not run this operator in one pass with the one before it; operators behind it may join it."""
        self._operator("start_new_chain").chaining = "head"
        return self

    def set_buffer_timeout(self: _T, timeout_millis: int) -> _T:
        """No effect: records travel in epochs, not in network buffers. Warns once.

        The options ``execution.epoch.*`` say how much goes into an epoch.
        """
        arguments.whole_number("set_buffer_timeout", "timeout_millis", timeout_millis, least=-1)
        self._operator("set_buffer_timeout")
        warn_once(
            "set_buffer_timeout",
            "set_buffer_timeout(): there are no network buffers on this engine, so their timeout has no effect; "
            "the epoch options decide about latency.",
        )
        return self

    # ---- inside --------------------------------------------------------------------------------------------

    def _operator(self, method: str) -> PhysicalTransformation:
        node = self.get_transformation()
        if not isinstance(node, PhysicalTransformation):
            raise ProgramError(
                f"{method}() concerns an operator, but the last step of this stream is {node.name}, which is none. "
                f"Call {method}() before that step, or after the next operator such as map()."
            )
        return node

    def _transform(
        self,
        name: str,
        factory: Callable[[], Operator],
        output_type: TypeInformation | None,
        method: str,
        **settings: Any,
    ) -> S:
        """Add an operator that reads this stream."""
        arguments.type_information(method, "output_type", output_type)
        return self.derive(self._graph.operator(name, [self.get_transformation()], factory, output_type, **settings))


def require_same_environment(method: str, first: AnyStream[Any], second: AnyStream[Any]) -> None:
    """Raise unless two streams can be part of one job."""
    if first.get_execution_environment() is not second.get_execution_environment():
        raise ProgramError(
            f"{method}: the streams belong to different environments, so they cannot meet in one job. "
            "Make both from the same StreamExecutionEnvironment."
        )


def own_operator(
    name: str, output_type: TypeInformation | None, factory: Callable[[], Operator]
) -> tuple[str, Callable[[], Operator], TypeInformation | None, str]:
    """The arguments of a ``transform``, checked."""
    arguments.text("transform", "operator_name", name)
    if not callable(factory):
        raise arguments.wrong_argument("transform", "operator_factory", factory, "a function that makes an Operator")
    return name, factory, output_type, "transform"
