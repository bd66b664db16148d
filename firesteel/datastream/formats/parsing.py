"""Reading messages inside a stream: what to do with malformed ones is said there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.common.serialization import DeserializationSchema
from firesteel.errors import ConfigurationError, MalformedRecordError
from firesteel.model.functions import ProcessFunction
from firesteel.model.output_tag import OutputTag

__all__ = ["ParseRecords"]


class ParseRecords(ProcessFunction):
    """Reads the messages of a stream, bytes or text, with a schema. Malformed ones go to a side output.

    ::

        malformed = OutputTag("malformed")
        rows = lines.process(ParseRecords(schema, malformed))
        rows.get_side_output(malformed).print()  # ('{"id": oops}', 'a message cannot be read as JSON: ...')

    :param schema: How a message is read. Where it ignores parse errors by itself, there is nothing to set aside.
    :param malformed: Where malformed messages go, as tuples of the message and the reason; the job fails if None.
    """

    def __init__(self, schema: DeserializationSchema, malformed: OutputTag | None = None) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise ConfigurationError(
                f"ParseRecords takes a DeserializationSchema, got {schema!r}. See formats.json, csv and avro."
            )
        self._schema = schema
        self._malformed = malformed

    def process_element(self, value: bytes | str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        """Emit the record of one message."""
        message = value.encode() if isinstance(value, str) else value
        try:
            record = self._schema.deserialize(message)
        except MalformedRecordError as error:
            if self._malformed is None:
                raise
            yield self._malformed, (value, str(error))
            return
        if record is not None:
            yield record
