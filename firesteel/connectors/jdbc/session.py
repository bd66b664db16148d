"""A connection that is made when it is needed, and once more when it was lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from firesteel.connectors.jdbc.database import Database, JdbcError, written_for

__all__ = ["Session"]

_T = TypeVar("_T")
_RETRY_SECONDS = 1.0


class Session:
    """Runs statements with ``?``, whatever style the driver has."""

    @staticmethod
    def pause(seconds: float) -> None:
        """Wait before the next attempt."""
        time.sleep(seconds)

    def __init__(self, database: Database) -> None:
        self.database = database
        self._connection: Any = None
        self._module: Any = None
        self._statements: dict[str, tuple[str, int, Callable[[Sequence[Any]], Any]]] = {}

    def _opened(self) -> Any:
        if self._connection is None:
            self._connection = self.database.connect()
            self._module = self.database.module(self._connection)
        return self._connection

    def _statement(self, sql: str) -> tuple[str, int, Callable[[Sequence[Any]], Any]]:
        found = self._statements.get(sql)
        if found is None:
            found = self._statements[sql] = written_for(sql, self._module.paramstyle)
        return found

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run a statement; gives the cursor."""
        cursor = self._opened().cursor()
        text, count, made = self._statement(sql)
        if count:
            cursor.execute(text, made(parameters))
        else:  # without parameters nothing in the text means more than it says
            cursor.execute(written_for(sql, "qmark")[0])
        return cursor

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row, in one call of the driver."""
        cursor = self._opened().cursor()
        text, _, made = self._statement(sql)
        try:
            cursor.executemany(text, rows if made is tuple else list(map(made, rows)))
        finally:
            cursor.close()

    def commit(self) -> None:
        """End the transaction."""
        self._connection.commit()

    def transact(self, doing: str, work: Callable[[], _T], retries: int) -> _T:
        """Do something in a transaction. If the database is away it is done again, on a new connection.

        :raises JdbcError: It cannot be done.
        """
        attempt = 0
        while True:
            try:
                self._opened()
                result = work()
                self.commit()
                return result
            except Exception as error:
                again = self.is_passing(error)
                self.roll_back(lost=again)
                if not again or attempt >= retries:
                    if isinstance(error, JdbcError):
                        raise
                    raise self.database.explained(error, doing) from error
            attempt += 1
            self.pause(_RETRY_SECONDS * attempt)

    def is_passing(self, error: Exception) -> bool:
        """Whether the database may be back soon, unlike an error in a statement or its data."""
        if isinstance(error, JdbcError):  # of connecting
            error = error.__cause__ if isinstance(error.__cause__, Exception) else error
        names = {each.__name__ for each in type(error).__mro__}
        if type(error).__module__ == "sqlite3":  # which has one class for almost everything
            return "locked" in str(error) or "busy" in str(error)
        return bool(names & {"OperationalError", "InterfaceError", "ConnectionError"})

    def is_double(self, error: Exception) -> bool:
        """Whether a row was there before."""
        return any(each.__name__ == "IntegrityError" for each in type(error).__mro__)

    def roll_back(self, lost: bool = False) -> None:
        """Give the transaction up, and with ``lost`` the connection."""
        if self._connection is None:
            return
        with contextlib.suppress(Exception):  # what failed before is what is told
            self._connection.rollback()
        if lost:
            self.close()

    def close(self) -> None:
        """Hang up. The session connects anew if it is used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.close()
