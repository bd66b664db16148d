"""Storm's spouts and bolts, as they are written for pystorm and streamparse, run as a source and as a flat map."""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import ConfigurationError, JobError, UnsupportedError
from firesteel.model.functions import FlatMapFunction, RuntimeContext, SourceFunction
from firesteel.model.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from firesteel.model.state import ListStateDescriptor

__all__ = ["Bolt", "Spout", "StormBolt", "StormSpout", "StormTuple"]

_IDLE_SECONDS = 0.01


@dataclass
class StormTuple:
    """What a bolt gets: a record in Storm's form."""

    values: Sequence[Any]
    id: Any = None
    component: str = "firesteel"
    stream: str = "default"
    task: int = 0


class _Component:
    """What spouts and bolts share."""

    logger = logging.getLogger("firesteel.storm")

    def initialize(self, storm_conf: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        """Called once, before the first tuple."""
        return None

    def log(self, message: str, level: str | None = None) -> None:
        """Write to the log."""
        self.logger.log(logging.getLevelName((level or "info").upper()), "%s", message)

    def emit(self, tup: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        """Give a tuple. Bound when the component runs."""
        raise UnsupportedError("emit() works when the component runs: wrap it in StormSpout or StormBolt")


class Spout(_Component):
    """A base class for spouts, where there is no pystorm. Write ``next_tuple``, and if wanted ``ack`` and ``fail``."""

    def next_tuple(self) -> None:
        """Emit a tuple, or none if there is none now."""
        raise NotImplementedError

    def ack(self, tup_id: Any) -> None:
        """A tuple will not be needed again."""
        return None

    def fail(self, tup_id: Any) -> None:
        """A tuple was not processed to the end."""
        return None


class Bolt(_Component):
    """A base class for bolts, where there is no pystorm. Write ``process``."""

    def process(self, tup: StormTuple) -> None:
        """Take a tuple, and emit what comes of it."""
        raise NotImplementedError

    def ack(self, tup: StormTuple) -> None:
        """Nothing has to be said: a tuple counts as processed when its checkpoint is complete."""
        return None

    def fail(self, tup: StormTuple) -> None:
        """Fail the job, which goes back to its checkpoint. Bound when the bolt runs."""
        raise UnsupportedError("fail() works when the bolt runs: wrap it in StormBolt")


def _made(owner: str, component: Any, method: str) -> Any:
    made = component() if inspect.isclass(component) else component
    if not callable(getattr(made, method, None)):
        raise ConfigurationError(f"{owner} takes a class or object with a method {method}, got {component!r}")
    return made


def _initialize(component: Any, conf: Mapping[str, Any], context: RuntimeContext) -> None:
    initialize = getattr(component, "initialize", None)
    if callable(initialize):
        task = {"taskid": context.get_index_of_this_subtask(), "componentid": context.get_task_name()}
        initialize(dict(conf), task)


@dataclass
class _Emitted:
    """What a component has emitted in one call."""

    tuples: list[tuple[tuple[Any, ...], Any]] = field(default_factory=list)

    def take(self, tup: Sequence[Any], tup_id: Any = None, stream: str | None = None, **options: Any) -> list[int]:
        """As ``emit`` of pystorm."""
        if stream not in (None, "default") or options.get("direct_task") is not None:
            raise UnsupportedError(
                "a component emits to the default stream only, and to no chosen task. Emit a name as the first value, "
                "and split the stream behind it."
            )
        self.tuples.append((tuple(tup), tup_id))
        return []


class StormSpout(SourceFunction, CheckpointedFunction, CheckpointListener):
    """Runs a spout: ``env.add_source(StormSpout(SentenceSpout))``. Records are tuples.

    ``ack`` is called when the checkpoint that holds a tuple is complete, not when a bolt has seen it; ``fail``
    for what was given since, when the job fails or is cancelled. So a spout whose source gives failed tuples again is
    at-least-once, as in Storm; without checkpoints nothing is acknowledged. A tuple without an id is given and
    forgotten. The spout is never called by two threads at once.

    :param spout: A class without parameters, or an object: with ``next_tuple``, and if wanted ``initialize``, ``ack``
        and ``fail``. It emits by ``self.emit(values, tup_id=...)``.
    :param conf: What ``initialize`` gets as the topology's configuration.
    :param max_tuples: End after so many tuples; None: never.
    """

    def __init__(self, spout: Any, conf: Mapping[str, Any] | None = None, max_tuples: int | None = None) -> None:
        _made("StormSpout", spout, "next_tuple")
        self._component = spout
        self._conf = dict(conf or {})
        self._max_tuples = max_tuples

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called first. What a checkpoint holds was processed: it is acknowledged, should the job have died before."""
        store = context.get_operator_state_store()
        self._ids = store.get_list_state(ListStateDescriptor("ids"))
        self._totals = store.get_list_state(ListStateDescriptor("total"))
        self._given: list[Any] = list(self._ids.get())
        """Ids that were given and not acknowledged, oldest first."""
        self._total = sum(self._totals.get())
        self._acknowledged = 0
        self._done = len(self._given)
        """How many ids may be acknowledged, of all that this object had."""
        self._marks: dict[int, int] = {}

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called before :meth:`run`."""
        self._context = runtime_context
        self._spout: Any = None
        self._running = threading.Event()
        self._running.set()
        self._stopped = threading.Event()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Remember which ids the checkpoint holds."""
        self._marks[context.get_checkpoint_id()] = self._acknowledged + len(self._given)
        self._ids.update(list(self._given))
        self._totals.update([self._total])

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The run loop will acknowledge."""
        complete = [number for number in self._marks if number <= checkpoint_id]
        self._done = max([self._done, *(self._marks.pop(number) for number in complete)])
        if self._has_all():  # the loop has ended
            self._acknowledge()

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        """Ask the spout again and again."""
        emitted = _Emitted()
        self._spout = spout = _made("StormSpout", self._component, "next_tuple")
        spout.emit = emitted.take
        _initialize(spout, self._conf, self._context)
        while self._running.is_set() and not self._has_all():
            with ctx.get_checkpoint_lock():
                self._acknowledge()
                spout.next_tuple()
                given, emitted.tuples = emitted.tuples, []
                for values, tup_id in given:
                    ctx.collect(values)
                    if tup_id is not None:
                        self._given.append(tup_id)
                self._total += len(given)
            if not given:
                self._stopped.wait(_IDLE_SECONDS)

    def _has_all(self) -> bool:
        return self._max_tuples is not None and self._total >= self._max_tuples

    def _acknowledge(self) -> None:
        while self._acknowledged < self._done and self._given:
            self._acknowledged += 1
            self._call("ack", self._given.pop(0))

    def close(self) -> None:
        """Called when the thread has ended: what is in no checkpoint has failed."""
        if self._spout is not None:
            self._acknowledge()
            for tup_id in self._given:
                self._call("fail", tup_id)
            self._given = []

    def _call(self, method: str, tup_id: Any) -> None:
        function = getattr(self._spout, method, None)
        if callable(function):
            function(tup_id)

    def cancel(self) -> None:
        """Stop."""
        self._running.clear()
        self._stopped.set()


class StormBolt(FlatMapFunction):
    """Runs a bolt: ``stream.flat_map(StormBolt(SplitBolt))``. Records become tuples of Storm, and come out as tuples.

    :param bolt: A class without parameters, or an object: with ``process(tup)``, and if wanted ``initialize``. It emits
        by ``self.emit(values)``. ``self.fail(tup)`` fails the job, which goes back to its checkpoint: the tuple comes
        again.
    :param conf: What ``initialize`` gets as the topology's configuration.
    """

    def __init__(self, bolt: Any, conf: Mapping[str, Any] | None = None) -> None:
        _made("StormBolt", bolt, "process")
        self._component = bolt
        self._conf = dict(conf or {})

    def open(self, runtime_context: RuntimeContext) -> None:
        """Make the bolt."""
        self._bolt = _made("StormBolt", self._component, "process")
        self._emitted = _Emitted()
        self._bolt.emit = self._emit
        self._bolt.ack = lambda tup: None
        self._bolt.fail = self._fail
        self._count = 0
        _initialize(self._bolt, self._conf, runtime_context)

    def _emit(self, tup: Sequence[Any], stream: str | None = None, anchors: Any = None, **options: Any) -> list[int]:
        return self._emitted.take(tup, None, stream, **options)

    def _fail(self, tup: StormTuple) -> None:
        raise JobError(f"{type(self._bolt).__name__} has failed the tuple {tup.values!r:.200}")

    def flat_map(self, value: Any) -> Iterator[Any]:
        """Called for each record."""
        self._count += 1
        values = value if isinstance(value, (list, tuple)) else [value]
        self._bolt.process(StormTuple(list(values), self._count))
        given, self._emitted.tuples = self._emitted.tuples, []
        return iter([tup for tup, _ in given])
