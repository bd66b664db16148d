"""What becomes of a record: lines of a bulk request."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Mapping
from typing import Any

from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError

__all__ = ["ElasticsearchEmitter"]


class ElasticsearchEmitter:
    """Says which index a document goes to, and which id it has. Made by :meth:`static_index` or :meth:`dynamic_index`.

    A document with an id is updated, or put there if it is new: coming again after a failure it changes nothing.
    Without one each arrival is a document of its own.
    """

    def __init__(self, index: str, key_field: str | None, doc_type: str | None, dynamic: bool) -> None:
        self.doc_type = doc_type
        self._index = index
        self._key_field = key_field
        self._dynamic = dynamic

    @staticmethod
    def static_index(index: str, key_field: str | None = None, doc_type: str | None = None) -> ElasticsearchEmitter:
        """All documents go to one index.

        :param key_field: The field whose value is the id.
        :param doc_type: The type of documents, for Elasticsearch 6 only, where it is needed.
        """
        return _emitter(index, key_field, doc_type, False)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Each document goes to the index that one of its fields names."""
        return _emitter(index_field, key_field, doc_type, True)

    def lines(self, record: Any) -> bytes:
        """The lines for a record: what to do, and the document."""
        document = _document(record)
        place: dict[str, Any] = {"_index": self._field(document, self._index) if self._dynamic else self._index}
        if self.doc_type is not None:
            place["_type"] = self.doc_type
        if self._key_field is None:
            action, body = {"index": place}, document
        else:
            place["_id"] = self._field(document, self._key_field)
            action, body = {"update": place}, {"doc": document, "doc_as_upsert": True}
        try:
            return f"{json.dumps(action)}\n{json.dumps(body, default=_plain, ensure_ascii=False)}\n".encode()
        except (TypeError, ValueError) as error:
            raise TypeMismatchError(f"the document {record!r:.200} cannot be written as JSON: {error}") from error

    def _field(self, document: Mapping[str, Any], name: str) -> str:
        value = document.get(name)
        if value is None:
            raise TypeMismatchError(f"the document {document!r:.200} has no field {name!r} for its index or id")
        return str(value)


def _emitter(index: Any, key_field: Any, doc_type: Any, dynamic: bool) -> ElasticsearchEmitter:
    if not isinstance(index, str) or not index:
        raise ConfigurationError(f"an emitter takes the name of an index, or of the field that has it, got {index!r}")
    return ElasticsearchEmitter(index, key_field, doc_type, dynamic)


def _document(record: Any) -> Mapping[str, Any]:
    if isinstance(record, Mapping):
        return record
    if isinstance(record, Row):
        try:
            return record.as_dict(True)
        except (TypeError, ValueError) as error:
            raise TypeMismatchError(f"{record!r:.200} has no names for its fields: {error}") from error
    raise TypeMismatchError(f"a document is a dict or a Row with names, got {record!r:.200} ({type(record).__name__})")


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, Row):
        return value.as_dict(True)
    raise TypeError(f"{value!r:.100} is a {type(value).__name__}")
