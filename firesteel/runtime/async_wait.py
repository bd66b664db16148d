"""Calls to the outside world for each record, many at a time: the operator behind ``AsyncDataStream``.

Records are gathered and looked up together on an event loop of the operator's own. Every call has ended before a
watermark passes and before the epoch ends, so a checkpoint never has to hold a call that is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from itertools import repeat
from typing import Any

from firesteel.errors import TypeMismatchError
from firesteel.model.functions import AsyncFunction, AsyncRetryStrategy
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emission import split_by_timestamps
from firesteel.runtime.failure import OperatorFailure, is_from_outside
from firesteel.runtime.user_function import FunctionOperator

_ROUNDS_GATHERED = 64
"""So many times the capacity is gathered before calls are made: the more, the less often the last calls of a lot are
waited for with free places beside them."""
_CANCEL_SECONDS = 1.0
"""How long a cancelled call may take to notice."""

# A record that waits for its call: (value, timestamp).
_Waiting = tuple[Any, "int | None"]


class AsyncWaitOperator(FunctionOperator):
    """Calls an asynchronous function for each record.

    :param timeout_ms: How long a record may take, retries included.
    :param capacity: How many records may be under way at once.
    :param ordered: Emit results in the order of the records; else in the order in which they come.
    """

    def __init__(
        self,
        function: AsyncFunction[Any, Any],
        timeout_ms: int,
        capacity: int,
        ordered: bool,
        retries: AsyncRetryStrategy[Any],
    ) -> None:
        super().__init__(function)
        self._timeout = timeout_ms / 1000
        self._capacity = capacity
        self._ordered = ordered
        self._retries = retries
        self._waiting: list[_Waiting] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Open the function inside the event loop: clients that belong to a loop can be made there."""
        predicate = self._retries.get_retry_predicate()
        self._retry_result = predicate.result_predicate()
        self._retry_exception = predicate.exception_predicate()
        self._loop = asyncio.new_event_loop()
        self._run(self._inside(super().open))

    def process(self, batch: RowBatch) -> None:
        """Gather records; make the calls when there are many."""
        self._waiting.extend(zip(batch.values, batch.timestamps or repeat(None)))
        if len(self._waiting) >= self._capacity * _ROUNDS_GATHERED:
            self._work_off()

    def advance_watermark(self, watermark: int) -> None:
        """Results of records before a watermark come before it."""
        self._work_off()
        super().advance_watermark(watermark)

    def end_epoch(self) -> None:
        """Nothing stays under way between epochs."""
        self._work_off()

    def settle(self) -> None:
        """Records wait for each other, not for the end of the epoch."""
        self._work_off()

    def finish(self) -> None:
        """The last records have come."""
        self._work_off()

    def close(self) -> None:
        """Close the function inside the event loop, then the loop."""
        if self._loop is None:
            return
        try:
            self._run(self._inside(super().close))
            self._run(_cancel_all())
        finally:
            self._loop.close()
            self._loop = None

    @staticmethod
    async def _inside(action: Any) -> None:
        action()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        assert self._loop is not None
        with _no_loop_around():
            return self._loop.run_until_complete(work)

    def _work_off(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        values: list[Any] = []
        timestamps: list[int | None] = []
        for (_, stamp), results in self._run(self._call_all(waiting)):
            values.extend(results)
            timestamps.extend(repeat(stamp, len(results)))
        for batch in split_by_timestamps(values, timestamps):
            self.output.emit(batch)

    async def _call_all(self, waiting: list[_Waiting]) -> list[tuple[_Waiting, list[Any]]]:
        """The results of all records, in the order in which they are emitted. The first failure ends the rest."""
        places: list[list[Any]] = [[] for _ in waiting]
        finished: list[int] = []
        todo = iter(enumerate(waiting))

        async def work() -> None:
            for index, (value, _) in todo:  # shared: whoever is free takes the next record
                places[index] = [self.own(result) for result in await self._call_or_fail(value)]
                finished.append(index)

        workers = [asyncio.ensure_future(work()) for _ in range(min(self._capacity, len(waiting)))]
        _, unfinished = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        await _cancel(unfinished)
        for worker in workers:
            if worker not in unfinished:
                worker.result()
        return [(waiting[index], places[index]) for index in (range(len(waiting)) if self._ordered else finished)]

    async def _call_or_fail(self, value: Any) -> list[Any]:
        try:
            return await self._call(value)
        except OperatorFailure:
            raise
        except Exception as error:
            raise OperatorFailure.of(self.context.info, error, value) from error

    async def _call(self, value: Any) -> list[Any]:
        """The results for one record: of the call, or of ``timeout`` when its time is up."""
        call = asyncio.ensure_future(self._call_with_retries(value))
        try:
            done, _ = await asyncio.wait([call], timeout=self._timeout)
        finally:
            call.cancel()  # does nothing to a call that is done
        if done:
            return call.result()
        await _cancel([call])
        return _checked(self.function.timeout(value), "timeout")

    async def _call_with_retries(self, value: Any) -> list[Any]:
        attempts = 1
        while True:
            try:
                returned = await self.function.async_invoke(value)
            except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
                # Named here: these would end the event loop, and with it what is known of the record.
                if is_from_outside(error):
                    raise
                raise OperatorFailure.of(self.context.info, error, value) from error
            except Exception as error:
                if not self._again(self._retry_exception, error, attempts):
                    raise
            else:
                results = _checked(returned, "async_invoke")
                if not self._again(self._retry_result, results, attempts):
                    return results
            await asyncio.sleep(self._retries.get_backoff_time_millis(attempts) / 1000)
            attempts += 1

    def _again(self, predicate: Callable[[Any], bool] | None, outcome: Any, attempts: int) -> bool:
        return predicate is not None and predicate(outcome) and self._retries.can_retry(attempts)


def _checked(results: Any, method: str) -> list[Any]:
    if isinstance(results, list):
        return results
    raise TypeMismatchError(
        f"{method} of an asynchronous function must return a list of results, got {type(results).__name__}: "
        f"{results!r:.200}. For one result return [result], for none []"
    )


async def _cancel(calls: Collection[asyncio.Future[Any]]) -> None:
    """Cancel calls and give them a moment to notice; one that does not is left behind, until the operator closes."""
    for call in calls:
        call.cancel()
    if calls:
        done, _ = await asyncio.wait(calls, timeout=_CANCEL_SECONDS)
        for call in done:
            if not call.cancelled():
                call.exception()  # looked at, so that asyncio does not report it: nobody waits for this call any more


async def _cancel_all() -> None:
    await _cancel([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])


@contextmanager
def _no_loop_around() -> Iterator[None]:
    """Hide an event loop that runs in this thread already: a notebook's, when the job runs in its process."""
    outer = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
