"""The driver's half of the sink: the files of a checkpoint become one version of the table."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.common.formats.arrow_columns import row_columns
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.connectors.delta.table import TablePlace, deltalake
from firesteel.errors import CommitError
from firesteel.model.sink import CommitRequest, Committer

__all__ = ["DeltaCommitter"]

_LOG = logging.getLogger("firesteel.delta")


class DeltaCommitter(Committer):
    """A version holds, for each writer, the number of its last checkpoint: what is not above it was committed."""

    def __init__(
        self, place: TablePlace, row_type: RowTypeInfo, partitions: tuple[str, ...], properties: Mapping[str, str]
    ) -> None:
        import pyarrow as pa

        self._place = place
        self._partitions = partitions
        self._properties = properties
        self._schema = pa.schema([pa.field(name, kind) for name, (kind, _, _) in row_columns(row_type, True).items()])

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        module = deltalake()
        try:
            table = self._place.table() or self._make()
            self._check(module, table)
            left = [request for request in requests if not self._is_in(table, request)]
            if left:
                self._add(module, table, left)
        except module.exceptions.CommitFailedError as error:
            _LOG.warning("%s", self._place.explained(error, "committing"))
            for request in requests:
                request.retry_later()
        except Exception as error:
            doing = f"committing checkpoint {requests[-1].checkpoint_id}"
            raise CommitError(str(self._place.explained(error, doing))) from error

    def _make(self) -> Any:
        """Make the table. Should somebody else be quicker, theirs is taken."""
        return deltalake().DeltaTable.create(
            self._place.path,
            schema=self._schema,
            mode="ignore",
            partition_by=list(self._partitions) or None,
            configuration=dict(self._properties) or None,
            storage_options=dict(self._place.storage_options),
        )

    def _check(self, module: Any, table: Any) -> None:
        """Files whose columns are not the table's could be added, and would make it unreadable."""
        wanted = {field.name: field.type for field in module.Schema.from_arrow(self._schema).fields}
        there = {field.name: field.type for field in table.schema().fields}
        wrong = [name for name, kind in wanted.items() if there.get(name) != kind]
        if wrong:
            found = ", ".join(f"{name}: {there.get(name, 'not there')}" for name in wrong)
            expected = ", ".join(f"{name}: {wanted[name]}" for name in wrong)
            raise ValueError(f"its columns are others: {found}; the sink has {expected}")
        if list(self._partitions) != list(table.metadata().partition_columns):
            raise ValueError(
                f"it is partitioned by {table.metadata().partition_columns}, the sink by {list(self._partitions)}"
            )

    def _is_in(self, table: Any, request: CommitRequest) -> bool:
        last = table.transaction_version(request.committable["app"])
        if last is None or last < request.checkpoint_id:
            return False
        request.already_committed()
        return True

    def _add(self, module: Any, table: Any, requests: Sequence[CommitRequest]) -> None:
        actions, numbers = [], {}
        for request in requests:
            numbers[request.committable["app"]] = request.checkpoint_id  # oldest first: the last is the largest
            actions += [module.transaction.AddAction(**each, data_change=True) for each in request.committable["files"]]
        marks = [module.Transaction(app_id=app, version=number) for app, number in numbers.items()]
        table.create_write_transaction(
            actions,
            mode="append",
            schema=self._schema,
            partition_by=list(self._partitions) or None,
            commit_properties=module.CommitProperties(app_transactions=marks),
        )
