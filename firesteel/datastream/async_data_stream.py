"""AsyncDataStream: look something up outside for each record, many records at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream._internal import arguments
from firesteel.datastream.data_stream import DataStream
from firesteel.model.functions import AsyncFunction, AsyncRetryStrategy
from firesteel.model.functions.adapt import as_async_function
from firesteel.runtime.async_wait import AsyncWaitOperator

DEFAULT_CAPACITY = 100

Lookup = AsyncFunction[Any, Any] | Callable[[Any], Any]


class AsyncDataStream:
    """Applies asynchronous functions to streams.

    ::

        class Enrich(AsyncFunction):
            async def async_invoke(self, value):
                return [(value, await client.get(value))]

        AsyncDataStream.unordered_wait(orders, Enrich(), Time.seconds(5), capacity=20)

    In each subtask up to ``capacity`` calls are under way at the same time, on one event loop in one thread, so the
    function must not block. All calls for the records of an epoch have ended when the epoch ends, and those for the
    records before a watermark before it passes. A checkpoint therefore holds no unfinished calls: after a failure the
    records since the last checkpoint are read, and looked up, again, and each is emitted exactly once.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: Lookup,
        timeout: TimeLength,
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Emit results as they come; only watermarks keep their place among them.

        :param async_function: An :class:`AsyncFunction`, or an ``async def`` function that returns a list of results.
        :param timeout: How long a record may take; then ``timeout`` of the function decides, which fails the job
            unless overridden.
        :param capacity: How many calls one subtask may have under way.
        """
        strategy = AsyncRetryStrategy.no_restart()
        return _wait("unordered_wait", data_stream, async_function, timeout, strategy, capacity, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: Lookup,
        timeout: TimeLength,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Like :meth:`unordered_wait`, and call again in the cases that a strategy names.

        :param timeout: For the record as a whole: all tries and the pauses between them.
        """
        method = "unordered_wait_with_retry"
        return _wait(method, data_stream, async_function, timeout, async_retry_strategy, capacity, output_type)

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: Lookup,
        timeout: TimeLength,
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Emit results in the order of the records. The parameters are those of :meth:`unordered_wait`."""
        strategy = AsyncRetryStrategy.no_restart()
        return _wait("ordered_wait", data_stream, async_function, timeout, strategy, capacity, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: Lookup,
        timeout: TimeLength,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = DEFAULT_CAPACITY,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Like :meth:`ordered_wait`, and call again in the cases that a strategy names."""
        method = "ordered_wait_with_retry"
        return _wait(method, data_stream, async_function, timeout, async_retry_strategy, capacity, output_type)


def _wait(
    method: str,
    data_stream: DataStream,
    async_function: Lookup,
    timeout: TimeLength,
    retries: Any,
    capacity: int,
    output_type: TypeInformation | None,
) -> DataStream:
    arguments.instances(method, "data_stream", (data_stream,), DataStream, "a DataStream")
    function = as_async_function(async_function, method)
    timeout_ms = to_milliseconds(timeout)
    if timeout_ms <= 0:
        raise arguments.wrong_argument(method, "timeout", timeout, "longer than 0")
    arguments.whole_number(method, "capacity", capacity, least=1)
    if not isinstance(retries, AsyncRetryStrategy):
        expected = "an AsyncRetryStrategy"
        hint = "AsyncRetryStrategy.fixed_delay(...) makes one."
        raise arguments.wrong_argument(method, "async_retry_strategy", retries, expected, hint)
    ordered = method.startswith("ordered")
    factory = partial(AsyncWaitOperator, function, timeout_ms, capacity, ordered, retries)
    arguments.type_information(method, "output_type", output_type)
    graph = data_stream.get_execution_environment().graph
    return data_stream.derive(graph.operator("Async Wait", [data_stream.get_transformation()], factory, output_type))
