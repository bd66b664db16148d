"""Sources and sinks written as functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any

from firesteel.model.functions.base import Function


class SourceFunction(Function):
    """A source written as a loop. Runs in the driver, in a thread of its own, with parallelism 1.

    To survive failures it also implements ``CheckpointedFunction`` and emits under the checkpoint lock::

        def run(self, ctx):
            while self.running:
                with ctx.get_checkpoint_lock():
                    ctx.collect(self.offset)
                    self.offset += 1
    """

    class SourceContext(ABC):
        """Where a source function emits its records."""

        @abstractmethod
        def collect(self, element: Any) -> None:
            """Emit a record without a timestamp. Blocks while the job is behind."""

        @abstractmethod
        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            """Emit a record with its event timestamp in milliseconds."""

        @abstractmethod
        def emit_watermark(self, mark: Any) -> None:
            """Say that no record with a timestamp up to ``mark`` will come: a ``Watermark`` or milliseconds."""

        @abstractmethod
        def mark_as_temporarily_idle(self) -> None:
            """Say that watermarks need not wait for this source until its next record."""

        @abstractmethod
        def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
            """The lock under which a source changes its position and emits: no snapshot is taken while it is held."""

        @abstractmethod
        def close(self) -> None:
            """End the output. Called by the engine when :meth:`SourceFunction.run` has returned."""

    @abstractmethod
    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Called once, after ``open``. Emits until it has nothing more or :meth:`cancel` was called; the
        source ends when it returns.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Called from another thread when the job is cancelled: make :meth:`run` return soon."""


class ParallelSourceFunction(SourceFunction):
    """A source function that runs in as many instances as the source's parallelism says."""


class RichSourceFunction(SourceFunction):
    """Flink's name for a :class:`SourceFunction` that uses ``open`` and ``close``."""


class RichParallelSourceFunction(ParallelSourceFunction):
    """Flink's name for a :class:`ParallelSourceFunction` that uses ``open`` and ``close``."""


class SinkFunction(Function):
    """A sink written as a function. Runs in the tasks.

    It sees each record at least once: what was done since the last checkpoint is done again after a failure. If that
    does no harm (``invoke`` is idempotent) nothing else is needed; otherwise write a ``TwoPhaseCommitSinkFunction``.

    :cvar guarantee: What the sink promises.
    """

    guarantee: str = "at-least-once"

    class Context(ABC):
        """What a record comes with. Valid during the call to which it was given."""

        __slots__ = ()

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The watermark in milliseconds."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The timestamp of the record in milliseconds; None if it has none."""

    @abstractmethod
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        """Called once per record; after a failure records since the last checkpoint come again."""

    def finish(self) -> None:
        """Called once when all input has come, before ``close``: write what is still buffered."""
        return None


class RichSinkFunction(SinkFunction):
    """Flink's name for a :class:`SinkFunction` that uses ``open`` and ``close``."""
