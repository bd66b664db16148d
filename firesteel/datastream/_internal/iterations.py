"""IterativeStream: the entrance of a loop."""

from __future__ import annotations

from typing import Any, TypeVar

from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.stream import AnyStream, S, require_same_environment
from firesteel.errors import ProgramError
from firesteel.plan.graph import IterationTransformation, Transformation
from firesteel.runtime.iteration import IterationTail

_T = TypeVar("_T", bound=AnyStream[Any])


class Loop(AnyStream[S]):
    """The part of a stream that is the entrance of a loop."""

    _head: IterationTransformation

    def close_with(self, feedback_stream: _T) -> _T:
        """Feed a stream that was made from this one back into it, and return it.

        Its partitioning (``key_by``, ``rebalance``, ...) says to which subtasks its records return. Call this several
        times to feed several streams back.
        """
        arguments.instances("close_with", "feedback_stream", (feedback_stream,), AnyStream, "a DataStream")
        require_same_environment("close_with", self, feedback_stream)
        if not _stems_from(feedback_stream.get_transformation(), self._head):
            raise ProgramError(
                f"close_with: the stream {feedback_stream.get_name()!r} was not made from this iteration "
                f"(made at {self._head.call_site}), so feeding it back makes no loop. Use union() to add other records."
            )
        self._graph.feedback(self._head, feedback_stream.get_transformation(), IterationTail)
        return feedback_stream


def _stems_from(node: Transformation, origin: Transformation) -> bool:
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each is origin:
            return True
        if each.id not in seen:
            seen.add(each.id)
            waiting.extend(each.inputs)
    return False
