"""Enriches records with what a database has for them, without making the others wait."""

from __future__ import annotations

import asyncio
import queue
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.jdbc.database import written_for
from firesteel.connectors.jdbc.options import JdbcConnectionOptions
from firesteel.connectors.jdbc.session import Session
from firesteel.connectors.jdbc.values import row_maker
from firesteel.errors import ConfigurationError
from firesteel.model.functions import AsyncFunction, RuntimeContext

__all__ = ["JdbcLookupFunction"]


def _pairs(value: Any, rows: Sequence[Any]) -> Iterable[Any]:
    return [(value, row) for row in rows]


class JdbcLookupFunction(AsyncFunction[Any, Any]):
    """Looks rows up by a key of each record.

    ::

        customers = JdbcLookupFunction(
            options,
            "SELECT name, city FROM customers WHERE id = ?",
            key=lambda order: (order.customer,),
            join=lambda order, rows: [(order, row.city) for row in rows] or [(order, None)],
            cache_size=10_000,
            cache_ttl=60_000,
        )
        AsyncDataStream.unordered_wait(orders, customers, Time.seconds(10), 100)

    :param jdbc_connection_options: Where the database is.
    :param sql: The query, with a ``?`` for each value of the key.
    :param key: The values of the key of a record, as a tuple.
    :param join: What is emitted for a record, given the rows that were found. Without it: a pair of record and row for
        each row, hence nothing for a record without one.
    :param type_info: The type of the rows. Without it they have the columns' names and the driver's values.
    :param connections: How many queries a subtask has under way at a time.
    :param cache_size: How many keys a subtask remembers, those without rows among them. 0: none.
    :param cache_ttl: How long it does; None: until others need the place.
    :param max_retries: How often a query is tried again when the database is away.
    """

    def __init__(
        self,
        jdbc_connection_options: JdbcConnectionOptions,
        sql: str,
        key: Callable[[Any], Sequence[Any]],
        join: Callable[[Any, Sequence[Any]], Iterable[Any]] | None = None,
        *,
        type_info: TypeInformation | None = None,
        connections: int = 4,
        cache_size: int = 0,
        cache_ttl: TimeLength | None = None,
        max_retries: int = 3,
    ) -> None:
        if not isinstance(jdbc_connection_options, JdbcConnectionOptions):
            raise ConfigurationError(
                f"a look-up takes JdbcConnectionOptions, got a {type(jdbc_connection_options).__name__}"
            )
        if connections < 1 or cache_size < 0 or max_retries < 0:
            raise ConfigurationError("a look-up needs at least one connection, and no negative numbers")
        self._database = jdbc_connection_options.database
        self._sql = sql
        self._count = written_for(sql, "qmark")[1]
        self._key = key
        self._join = join or _pairs
        self._type_info = type_info
        self._connections = connections
        self._cache_size = cache_size
        self._ttl = None if cache_ttl is None else to_milliseconds(cache_ttl) / 1000
        self._retries = max_retries

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in each subtask."""
        self._make = row_maker(self._type_info)
        self._threads = ThreadPoolExecutor(self._connections, "jdbc-lookup")
        self._idle: queue.SimpleQueue[Session] = queue.SimpleQueue()
        self._sessions = [Session(self._database) for _ in range(self._connections)]
        for session in self._sessions:
            self._idle.put(session)
        self._cache: OrderedDict[Hashable, tuple[float, list[Any]]] = OrderedDict()
        self._asked: dict[Hashable, asyncio.Future[list[Any]]] = {}
        group = runtime_context.get_metrics_group()
        self._hits = group.counter("hitCount")
        self._misses = group.counter("missCount")

    async def async_invoke(self, value: Any) -> list[Any]:
        """The results for one record."""
        key = tuple(self._key(value))
        if len(key) != self._count:
            raise ConfigurationError(
                f"the query {self._sql!r:.300} has {self._count} parameters (?), the key of {value!r:.200} is "
                f"{key!r:.200}"
            )
        return list(self._join(value, await self._rows(key)))

    async def _rows(self, key: tuple[Any, ...]) -> list[Any]:
        known = self._cached(key)
        if known is not None:
            self._hits.inc()
            return known
        under_way = self._asked.get(key)
        if under_way is None:
            self._misses.inc()
            loop = asyncio.get_running_loop()
            under_way = self._asked[key] = loop.run_in_executor(self._threads, self._ask, key)
            under_way.add_done_callback(lambda done: self._answered(key, done))
        # The question of several records: one that gives up does not take the answer from the others.
        return await asyncio.shield(under_way)

    def _answered(self, key: tuple[Any, ...], done: asyncio.Future[list[Any]]) -> None:
        self._asked.pop(key, None)
        if self._cache_size and not done.cancelled() and done.exception() is None:
            self._cache[key] = (time.monotonic(), done.result())
            self._cache.move_to_end(key)
            while len(self._cache) > self._cache_size:
                self._cache.popitem(last=False)

    def _cached(self, key: tuple[Any, ...]) -> list[Any] | None:
        found = self._cache.get(key)
        if found is None:
            return None
        at, rows = found
        if self._ttl is not None and time.monotonic() - at > self._ttl:
            del self._cache[key]
            return None
        self._cache.move_to_end(key)
        return rows

    def _ask(self, key: tuple[Any, ...]) -> list[Any]:
        """In a thread, of which there are as many as sessions."""
        session = self._idle.get()
        try:
            return session.transact(
                f"looking up {key!r:.200} by {self._sql!r:.300}", lambda: self._query(session, key), self._retries
            )
        finally:
            self._idle.put(session)

    def _query(self, session: Session, key: tuple[Any, ...]) -> list[Any]:
        cursor = session.execute(self._sql, key)
        try:
            return self._make([column[0] for column in cursor.description], cursor.fetchall())
        finally:
            cursor.close()

    def close(self) -> None:
        """Called once at the end."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for session in self._sessions:
            session.close()
