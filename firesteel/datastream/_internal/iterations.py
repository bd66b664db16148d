"""IterativeStream: the entrance of a loop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from firesteel.datastream._internal import arguments
from firesteel.datastream._internal.stream import DataStream
from firesteel.errors import ProgramError
from firesteel.plan.graph import FeedbackTransformation, IterationTransformation, Transformation, user_call_site
from firesteel.runtime.iteration import IterationHead, IterationTail

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment


class IterativeStream(DataStream):
    """A stream into which some of the records made from it are fed back. Made by :meth:`DataStream.iterate`.

    ::

        loop = numbers.iterate()
        smaller = loop.map(lambda n: n - 1)
        loop.close_with(smaller.filter(lambda n: n > 0))
        smaller.filter(lambda n: n == 0).print()

    Records that are fed back in one epoch come in again in the next. They pass through the driver and are part of each
    checkpoint. They keep their timestamps and do not hold watermarks back, so they may be late for windows in the
    loop. A job whose sources have ended ends when nothing goes round any more.
    """

    def __init__(self, environment: StreamExecutionEnvironment, origin: DataStream) -> None:
        node = IterationTransformation(
            id=environment._next_id(),
            name="Iterate",
            inputs=[origin._transformation],
            call_site=user_call_site(),
            output_type=origin.get_type(),
            factory=IterationHead,
            chaining="head",  # it outlives its input, which no operator inside a chain can
        )
        super().__init__(environment, environment._add(node))
        self._head = node

    def close_with(self, feedback_stream: DataStream) -> DataStream:
        """Feed a stream that was made from this one back into it, and return it.

        Its partitioning (``key_by``, ``rebalance``, ...) says to which subtasks its records return. Call this several
        times to feed several streams back.
        """
        arguments.instances("close_with", "feedback_stream", (feedback_stream,), DataStream, "a DataStream")
        self._same_environment("close_with", feedback_stream)
        if not _stems_from(feedback_stream._transformation, self._head):
            raise ProgramError(
                f"close_with: the stream {feedback_stream.get_name()!r} was not made from this iteration "
                f"(made at {self._head.call_site}), so feeding it back makes no loop. Use union() to add other records."
            )
        tail = FeedbackTransformation(
            id=self._environment._next_id(),
            name="Feedback",
            inputs=[feedback_stream._transformation],
            call_site=user_call_site(),
            factory=partial(IterationTail, self._head.id),
            head=self._head,
        )
        self._head.feedback.append(tail)
        self._environment._add(tail)
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
