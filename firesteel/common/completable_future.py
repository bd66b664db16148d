"""A result that may still be on its way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from firesteel.errors import interrupted

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """A result that may still be on its way; made by the job client.

    It wraps a :class:`concurrent.futures.Future`, which the producing side completes.
    """

    def __init__(self, future: Future[T] | None = None) -> None:
        self._future: Future[T] = Future() if future is None else future

    @staticmethod
    def completed(value: T) -> CompletableFuture[T]:
        """A future that already has its result."""
        future: CompletableFuture[T] = CompletableFuture()
        future.set_result(value)
        return future

    def cancel(self) -> bool:
        """Give up waiting for the result, if it has not come yet; whether that worked."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether the future was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether there is a result or an exception, or the future was cancelled."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """The result, waiting for it at most `timeout` seconds; raises what the producer raised."""
        try:
            error = self._future.exception(timeout)
        except KeyboardInterrupt:
            raise interrupted("interrupted while waiting for a result; the job goes on") from None
        if error is not None:
            raise error.with_traceback(None)  # where it came from is another thread's business
        return self._future.result()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The exception that came instead of a result, or None; waits like :meth:`result`."""
        return self._future.exception(timeout)

    def set_result(self, value: T) -> None:
        """Complete the future with a result."""
        self._future.set_result(value)

    def set_exception(self, exception: BaseException) -> None:
        """Complete the future with an exception."""
        self._future.set_exception(exception)

    def add_done_callback(self, callback: Callable[[CompletableFuture[T]], object]) -> None:
        """Call `callback` with this future once it is done, at once if it is done already."""
        self._future.add_done_callback(lambda _: callback(self))

    def __repr__(self) -> str:
        if self.cancelled():
            return "CompletableFuture(cancelled)"
        if not self.done():
            return "CompletableFuture(pending)"
        error = self._future.exception()
        if error is None:
            return f"CompletableFuture(done: {self._future.result()!r})"
        return f"CompletableFuture(failed: {type(error).__name__}: {str(error).partition(chr(10))[0]})"
