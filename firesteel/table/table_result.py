"""What a statement or query has given."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from firesteel.common.job_client import JobClient
from firesteel.common.types import Row, RowKind
from firesteel.table.changelog import KIND_NAMES
from firesteel.table.functions import Session
from firesteel.table.printing import printed_by_content, printed_by_type
from firesteel.table.resolved_schema import ResolvedSchema, TableSchema
from firesteel.table.result_kind import ResultKind
from firesteel.table.types import DataTypes, RowField
from firesteel.table.values import from_stored

__all__ = ["ChangeIterator", "TableResult"]


class ChangeIterator:
    """The rows of a result, one by one; each says its kind. Closing it cancels the job, if it still runs."""

    def __init__(self, fields: Sequence[RowField], changes: Iterable[Any]) -> None:
        self._changes, self._iterator = changes, iter(changes)
        self._converters = [from_stored(field.data_type) for field in fields]

    def __iter__(self) -> ChangeIterator:
        return self

    def __next__(self) -> Row:
        kind, values = next(self._iterator)
        row = Row(*[convert(value) for convert, value in zip(self._converters, values)])
        row.set_row_kind(RowKind(kind))
        return row

    def next(self) -> Row:
        """The next row."""
        return next(self)

    def close(self) -> None:
        """Read no more; a job that still runs is cancelled."""
        close = getattr(self._changes, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> ChangeIterator:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class TableResult:
    """The result of a statement: rows, and the job that makes them if there is one.

    The rows of a query can be read once, by :meth:`collect` or :meth:`print`.
    """

    def __init__(
        self,
        fields: Sequence[RowField],
        changes: Iterable[Any],
        kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        job: JobClient | None = None,
        session: Session | None = None,
        with_kinds: bool | None = None,
    ) -> None:
        self._fields = tuple(fields)
        self._changes = changes
        self._kind = kind
        self._job = job
        self._session = session or Session()
        self._with_kinds = with_kinds

    @staticmethod
    def ok() -> TableResult:
        """The result of a statement that only does something."""
        return TableResult([RowField("result", DataTypes.STRING())], [(0, ("OK",))], ResultKind.SUCCESS)

    @staticmethod
    def listing(columns: Sequence[tuple[str, Any]], rows: Iterable[Sequence[Any]]) -> TableResult:
        """The result of a statement that shows something."""
        fields = [RowField(name, data_type) for name, data_type in columns]
        return TableResult(fields, [(0, tuple(row)) for row in rows])

    def get_job_client(self) -> JobClient | None:
        """The job, if there is one."""
        return self._job

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended, or as long as said; an error of the job is raised."""
        if self._job is not None:
            seconds = None if timeout_ms is None else timeout_ms / 1000
            self._job.get_job_execution_result().result(seconds)

    def get_table_schema(self) -> TableSchema:
        """The columns, as PyFlink's older class."""
        return TableSchema([field.name for field in self._fields], [field.data_type for field in self._fields])

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns."""
        return ResolvedSchema(self._fields)

    def get_result_kind(self) -> ResultKind:
        """Whether there are rows to be seen."""
        return self._kind

    def collect(self) -> ChangeIterator:
        """The rows, one by one, while the job runs."""
        return ChangeIterator(self._fields, self._changes)

    def print(self) -> None:
        """Write the rows to standard output, as Flink does."""
        for line in self._lines():
            sys.stdout.write(f"{line}\n")

    def _lines(self) -> Iterator[str]:
        if self._kind is ResultKind.SUCCESS:
            yield "OK"
        elif self._with_kinds is None:
            yield from printed_by_content(self._fields, [values for _, values in self._changes], self._session)
        else:
            changes = ((KIND_NAMES[kind], values) for kind, values in self._changes)
            yield from printed_by_type(self._fields, changes, self._session, self._with_kinds)

    def __repr__(self) -> str:
        return f"TableResult({', '.join(field.name for field in self._fields)})"
