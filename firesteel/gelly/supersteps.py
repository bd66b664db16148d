"""What the functions of all graph iterations have in common, and the data sets that these iterations stand on."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from firesteel.dataset import Aggregator, DataSet
from firesteel.dataset.functions import Function
from firesteel.dataset.messages import Around, Outbox, Part
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.gelly.configuration import IterationConfiguration
from firesteel.gelly.functions import Delegate
from firesteel.gelly.records import Edge, EdgeDirection

__all__ = ["SuperstepFunction"]

NUM_VERTICES = "number of vertices"


class SuperstepFunction(Function):
    """A function of a graph iteration: knows its superstep, aggregators and broadcast sets."""

    def pre_superstep(self) -> None:
        """Called once per task and superstep, before any vertex."""
        return None

    def post_superstep(self) -> None:
        """Called once per task and superstep, after the last vertex."""
        return None

    def get_superstep_number(self) -> int:
        """Which superstep this is, from 1."""
        number: int = self._iteration().get_superstep_number()
        return number

    def get_iteration_aggregator(self, name: str) -> Aggregator:
        """The aggregator that the configuration registered under this name, to add to."""
        aggregator: Aggregator = self._iteration().get_iteration_aggregator(name)
        return aggregator

    def get_previous_iteration_aggregate(self, name: str) -> Any:
        """What the aggregator held after the superstep before; None in the first."""
        return self._iteration().get_previous_iteration_aggregate(name)

    def get_broadcast_set(self, name: str) -> list[Any]:
        """All records of the data set that the configuration gives to this function under this name."""
        try:
            return self._broadcast(name)
        except ConfigurationError:
            raise ProgramError(
                f"there is no broadcast set {name!r} for {type(self).__name__}. "
                "Add it to the configuration of the iteration, for this kind of function"
            ) from None

    def _broadcast(self, name: str) -> list[Any]:
        context: Any = self.get_runtime_context()
        records: list[Any] = context.get_broadcast_variable(name)
        return records

    def get_number_of_vertices(self) -> int:
        """How many vertices the graph has, if the configuration says ``set_opt_num_vertices(True)``."""
        try:
            return int(sum(self._broadcast(NUM_VERTICES)))
        except ConfigurationError:
            raise ProgramError(
                "get_number_of_vertices(): the vertices have not been counted. "
                "Call set_opt_num_vertices(True) on the configuration of the iteration"
            ) from None

    def _iteration(self) -> Any:
        context: Any = self.get_runtime_context()
        return context.get_iteration_runtime_context()


class SendingFunction(SuperstepFunction):
    """A function of a graph iteration that sends messages for a vertex."""

    _around: Around
    _outbox: Outbox

    def get_edges(self) -> list[Edge]:
        """The edges of the vertex: those that go out, if the configuration does not say otherwise."""
        return list(map(Edge._make, self._around.edges()))

    def send_message_to(self, target: Any, message: Any) -> None:
        """Send a message to a vertex, found by its id."""
        self._outbox[target].append(message)

    def send_message_to_all_neighbors(self, message: Any) -> None:
        """Send a message along all edges that :meth:`get_edges` gives."""
        outbox = self._outbox
        for target in self._around.others():
            outbox[target].append(message)

    def begin(self, around: Around, outbox: Outbox) -> None:
        """For the iteration: the edges and messages of the vertices that come next."""
        self._around, self._outbox = around, outbox


class SuperstepDelegate(Delegate):
    """Does its work with a function of a graph iteration, within a superstep of it."""

    def open(self, runtime_context: Any) -> None:
        """Open the user's function, and begin the superstep."""
        super().open(runtime_context)
        self._superstep().pre_superstep()

    def close(self) -> None:
        """End the superstep, unless something went wrong in it, and close the user's function."""
        try:
            if sys.exc_info()[0] is None:
                self._superstep().post_superstep()
        finally:
            super().close()

    def _superstep(self) -> SuperstepFunction:
        assert isinstance(self._function, SuperstepFunction)
        return self._function


def checked(function: Any, kind: type, where: str) -> Any:
    """A function of a graph iteration, or an error that says which class was expected."""
    if not isinstance(function, kind):
        hint = f"; this is the class {function.__name__}, give an instance of it" if isinstance(function, type) else ""
        raise ConfigurationError(f"{where}: expected a {kind.__name__}, got {function!r:.100}{hint}")
    return function


# --- the iteration ----------------------------------------------------------------------------------


def part(name: str, function: Any, role: str, vertices: DataSet, parameters: IterationConfiguration) -> Part:
    """A function of an iteration, with what it may ask for."""
    broadcast = dict(parameters.broadcast_sets(role))
    if parameters.is_opt_num_vertices():
        broadcast[NUM_VERTICES] = vertices.map_partition(_count).name("Number of vertices")
    return Part(name, function, broadcast)


def is_plain(function: SuperstepFunction) -> bool:
    """Whether a function does nothing but what it does for each vertex."""
    own = type(function)
    hooks = ("open", "close", "pre_superstep", "post_superstep")
    return all(getattr(own, hook) is getattr(SuperstepFunction, hook) for hook in hooks)


def along(direction: EdgeDirection) -> tuple[bool, bool]:
    """Whether messages go along edges from source to target, and whether from target to source."""
    return direction is not EdgeDirection.IN, direction is not EdgeDirection.OUT


def _count(records: Iterable[Any]) -> list[int]:
    return [sum(1 for _ in records)]
