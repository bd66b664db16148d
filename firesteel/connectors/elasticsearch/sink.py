"""Sinks of documents, built as PyFlink builds them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

from firesteel.connectors.base import DeliveryGuarantee
from firesteel.connectors.elasticsearch.bulk import BulkClient, BulkSettings, ElasticsearchError, checked_host
from firesteel.connectors.elasticsearch.emitter import ElasticsearchEmitter
from firesteel.errors import ConfigurationError
from firesteel.model.functions import RuntimeContext
from firesteel.model.sink import Sink, SinkWriter, WriterContext

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "Elasticsearch8SinkBuilder",
    "ElasticsearchSink",
    "FlushBackoffType",
    "OpensearchSink",
    "OpensearchSinkBuilder",
]

_B = TypeVar("_B", bound="_SinkBuilder")
_MAX_ACTIONS = 1000
FailureHandler = Callable[[str, str], Any]


class FlushBackoffType(Enum):
    """How the pauses between attempts grow."""

    CONSTANT = "CONSTANT"
    """They are all the same."""
    EXPONENTIAL = "EXPONENTIAL"
    """Each is twice the one before."""
    NONE = "NONE"
    """There is no second attempt."""


class ElasticsearchSink(Sink):
    """Puts documents into Elasticsearch. Made by :class:`Elasticsearch7SinkBuilder` and its kin.

    At-least-once: a checkpoint is complete when the cluster has everything. Documents with ids of their own that come
    again after a failure change nothing.
    """

    guarantee = "at-least-once"

    def __init__(
        self,
        settings: BulkSettings,
        emitter: ElasticsearchEmitter,
        delivery: DeliveryGuarantee,
        limits: tuple[int, int, int],
        on_failure: FailureHandler | None,
    ) -> None:
        self.guarantee = delivery.value
        self._settings = settings
        self._emitter = emitter
        self._delivery = delivery
        self._limits = limits
        self._on_failure = on_failure

    def create_writer(self) -> SinkWriter:
        """Sends documents."""
        return _BulkWriter(self._settings, self._emitter, self._delivery, self._limits, self._on_failure)


class OpensearchSink(ElasticsearchSink):
    """Puts documents into OpenSearch. Made by :class:`OpensearchSinkBuilder`."""


class _BulkWriter(SinkWriter):
    """A request is sent when it is full, when its time is up, and with the checkpoint."""

    def __init__(
        self,
        settings: BulkSettings,
        emitter: ElasticsearchEmitter,
        delivery: DeliveryGuarantee,
        limits: tuple[int, int, int],
        on_failure: FailureHandler | None,
    ) -> None:
        self._client = BulkClient(settings)
        self._emitter = emitter
        self._flushes = delivery is DeliveryGuarantee.AT_LEAST_ONCE
        self._max_actions, self._max_bytes, self._interval_ms = limits
        self._on_failure = on_failure
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._sent_at = time.monotonic()

    def open(self, context: RuntimeContext, restored: Sequence[Any]) -> None:
        group = context.get_metrics_group()
        self._sent = group.counter("numRecordsSend")
        self._errors = group.counter("numRecordsSendErrors")
        self._sent_bytes = group.counter("numBytesSend")

    def write(self, value: Any, context: WriterContext) -> None:
        lines = self._emitter.lines(value)
        if self._waiting and 0 < self._max_bytes < self._bytes + len(lines):
            self._send()
        self._waiting.append(lines)
        self._bytes += len(lines)
        if 0 < self._max_actions <= len(self._waiting):
            self._send()

    def flush(self, end_of_input: bool) -> None:
        late = self._interval_ms > 0 and (time.monotonic() - self._sent_at) * 1000 >= self._interval_ms
        if end_of_input or late:
            self._send()

    def prepare_commit(self, checkpoint_id: int) -> Sequence[Any]:
        if self._flushes:
            self._send()
        return ()

    def _send(self) -> None:
        waiting, self._waiting, size, self._bytes = self._waiting, [], self._bytes, 0
        self._sent_at = time.monotonic()
        if not waiting:
            return
        refused = self._client.send(waiting)
        self._sent.inc(len(waiting) - len(refused))
        self._sent_bytes.inc(size)
        self._errors.inc(len(refused))
        for document, reason in refused:
            if self._on_failure is None:
                raise ElasticsearchError(f"{self._client.host}: {reason}: {document.decode()[:500]}")
            self._on_failure(document.decode(), reason)

    def close(self) -> None:
        self._client.close()


class _SinkBuilder:
    """What the builders share."""

    _typed = False

    def __init__(self) -> None:
        self._settings = BulkSettings()
        self._emitter: ElasticsearchEmitter | None = None
        self._delivery = DeliveryGuarantee.AT_LEAST_ONCE
        self._max_actions = _MAX_ACTIONS
        self._max_mb = -1
        self._interval_ms = -1
        self._on_failure: FailureHandler | None = None

    def set_emitter(self: _B, emitter: ElasticsearchEmitter) -> _B:
        """What becomes of a record."""
        if not isinstance(emitter, ElasticsearchEmitter):
            raise ConfigurationError(
                f"set_emitter() takes an ElasticsearchEmitter, got {emitter!r}. Make one with "
                "ElasticsearchEmitter.static_index(...)."
            )
        self._emitter = emitter
        return self

    def set_hosts(self: _B, hosts: Sequence[str]) -> _B:
        """Where the cluster is: ``["search-1:9200", "https://search-2:9200"]``. The next is asked if one is away."""
        if isinstance(hosts, str) or not hosts:
            raise ConfigurationError(f"set_hosts() takes a list of hosts, got {hosts!r}")
        self._settings.hosts = tuple(map(checked_host, hosts))
        return self

    def set_delivery_guarantee(self: _B, delivery_guarantee: DeliveryGuarantee) -> _B:
        """``AT_LEAST_ONCE``, the default, or ``NONE``. There are no transactions that could give more."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ConfigurationError(
                "there is no exactly-once: the cluster has no transactions. With AT_LEAST_ONCE and an emitter with a "
                "key_field, documents that come again change nothing."
            )
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise ConfigurationError(f"set_delivery_guarantee() takes a DeliveryGuarantee, got {delivery_guarantee!r}")
        self._delivery = delivery_guarantee
        return self

    def set_bulk_flush_max_actions(self: _B, num_max_actions: int) -> _B:
        """How many documents a request has; 1000 if not set, -1: no limit."""
        self._max_actions = _limit("set_bulk_flush_max_actions", num_max_actions)
        return self

    def set_bulk_flush_max_size_mb(self: _B, max_size_mb: int) -> _B:
        """How many megabytes a request has at most; -1, the default: no limit."""
        self._max_mb = _limit("set_bulk_flush_max_size_mb", max_size_mb)
        return self

    def set_bulk_flush_interval(self: _B, interval_millis: int) -> _B:
        """After how many milliseconds documents are sent, at the end of an epoch; -1, the default: not by time."""
        self._interval_ms = _limit("set_bulk_flush_interval", interval_millis)
        return self

    def set_bulk_flush_backoff_strategy(
        self: _B, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> _B:
        """How often, and after how long, documents are sent again that the cluster had no room for, or when it is away.

        Not at all if nothing is set.
        """
        if not isinstance(flush_backoff_type, FlushBackoffType):
            raise ConfigurationError(f"a FlushBackoffType was expected, got {flush_backoff_type!r}")
        none = flush_backoff_type is FlushBackoffType.NONE
        self._settings.retries = 0 if none else _positive("max_retries", max_retries)
        self._settings.delay_ms = 0 if none else _positive("delay_millis", delay_millis)
        self._settings.doubles = flush_backoff_type is FlushBackoffType.EXPONENTIAL
        return self

    def set_connection_username(self: _B, username: str) -> _B:
        """The user."""
        self._settings.user = _text("set_connection_username", username)
        return self

    def set_connection_password(self: _B, password: str) -> _B:
        """The user's password."""
        self._settings.password = _text("set_connection_password", password)
        return self

    def set_connection_path_prefix(self: _B, prefix: str) -> _B:
        """What the path of each request begins with, for a cluster behind a proxy."""
        self._settings.path_prefix = "/" + _text("set_connection_path_prefix", prefix).strip("/")
        return self

    def set_connection_request_timeout(self: _B, timeout: int) -> _B:
        """How many milliseconds a request may wait for a connection. There is one per writer, which waits for nobody:
        the time counts as that of connecting.
        """
        return self._timeout("set_connection_request_timeout", timeout)

    def set_connection_timeout(self: _B, timeout: int) -> _B:
        """How many milliseconds connecting may take."""
        return self._timeout("set_connection_timeout", timeout)

    def set_socket_timeout(self: _B, timeout: int) -> _B:
        """How many milliseconds the cluster may be silent. The longest of the times that are set holds for all."""
        return self._timeout("set_socket_timeout", timeout)

    def _timeout(self: _B, method: str, timeout: int) -> _B:
        self._settings.timeout_ms = max(self._settings.timeout_ms or 0, _positive(method, timeout))
        return self

    def set_failure_handler(self: _B, handler: FailureHandler) -> _B:
        """What is called, in the task, with a document that is refused and the reason. If not set, the job fails.

        The document is its two lines of the request; raise to fail the job after all.
        """
        if not callable(handler):
            raise ConfigurationError(f"set_failure_handler() takes a function, got {handler!r}")
        self._on_failure = handler
        return self

    def _built(self, kind: type[ElasticsearchSink]) -> Any:
        if not self._settings.hosts:
            raise ConfigurationError("a sink of documents needs set_hosts()")
        if self._emitter is None:
            raise ConfigurationError("a sink of documents needs set_emitter()")
        if self._typed and self._emitter.doc_type is None:
            raise ConfigurationError("Elasticsearch 6 needs the doc_type of the emitter")
        if not self._typed and self._emitter.doc_type is not None:
            raise ConfigurationError("documents have no type any more: doc_type is for Elasticsearch6SinkBuilder")
        size = self._max_mb * 1024 * 1024 if self._max_mb > 0 else -1
        limits = (self._max_actions, size, self._interval_ms)
        return kind(self._settings, self._emitter, self._delivery, limits, self._on_failure)


def _text(method: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigurationError(f"{method}() takes a text, got a {type(value).__name__}")
    return value


def _limit(method: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value == 0 or value < -1:
        raise ConfigurationError(f"{method}() takes a whole number above 0, or -1 for no limit, got {value!r}")
    return value


def _positive(method: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ConfigurationError(f"{method} is a whole number above 0, got {value!r}")
    return value


class Elasticsearch6SinkBuilder(_SinkBuilder):
    """Builds a sink for Elasticsearch 6, whose documents have a type. Hosts and an emitter are needed."""

    _typed = True

    def build(self) -> ElasticsearchSink:
        """The sink."""
        sink: ElasticsearchSink = self._built(ElasticsearchSink)
        return sink


class Elasticsearch7SinkBuilder(_SinkBuilder):
    r"""Builds a sink for Elasticsearch 7. Hosts and an emitter are needed.

    ::

        sink = Elasticsearch7SinkBuilder() \
            .set_emitter(ElasticsearchEmitter.static_index("clicks", "id")) \
            .set_hosts(["search:9200"]) \
            .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 100) \
            .build()
        clicks.sink_to(sink)        # dicts, or Rows with names
    """

    def build(self) -> ElasticsearchSink:
        """The sink."""
        sink: ElasticsearchSink = self._built(ElasticsearchSink)
        return sink


class Elasticsearch8SinkBuilder(Elasticsearch7SinkBuilder):
    """Builds a sink for Elasticsearch 8, whose bulk requests are those of 7. Hosts and an emitter are needed."""


class OpensearchSinkBuilder(_SinkBuilder):
    """Builds a sink for OpenSearch. Hosts and an emitter are needed."""

    def build(self) -> OpensearchSink:
        """The sink."""
        sink: OpensearchSink = self._built(OpensearchSink)
        return sink
