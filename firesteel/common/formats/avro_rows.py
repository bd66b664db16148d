"""Avro records as Rows, and Avro schemas. Needs fastavro: ``pip install firesteel[avro]``."""

from __future__ import annotations

import copy
import datetime
import importlib
import io
import json
from collections.abc import Callable
from typing import Any

from firesteel.common.formats.fields import field_values, malformed
from firesteel.common.formats.text_values import BYTES
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.type_extraction import extract_type
from firesteel.common.typeinfo import (
    MapTypeInfo,
    Mismatch,
    NullableTypeInfo,
    PojoTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
    _ArrayTypeInfo,
)
from firesteel.common.types import Row
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = [
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
    "fastavro_module",
]


def fastavro_module(name: str = "fastavro") -> Any:
    """A module of fastavro, imported where it is used: programs without Avro do without it.

    :raises ConfigurationError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"Avro needs the package fastavro, which is not installed here ({error}). Run: pip install firesteel[avro]"
        ) from error


class AvroSchema:
    """An Avro schema. Make one with :meth:`parse_string` or :meth:`parse_file`.

    :param definition: The schema as the JSON text, or what it is parsed to.
    """

    def __init__(self, definition: Any) -> None:
        self._definition = definition
        try:
            self._parsed = fastavro_module().parse_schema(copy.deepcopy(definition))
        except (fastavro_module("fastavro.schema").SchemaParseException, fastavro_module("fastavro.schema").UnknownType,
                KeyError, TypeError, ValueError) as error:  # fmt: skip
            raise ConfigurationError(
                f"not an Avro schema: {type(error).__name__} {error}. Got {json.dumps(definition)[:120]}"
            ) from error

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema of a JSON text.

        :raises ConfigurationError: It is no Avro schema.
        """
        try:
            definition = json.loads(json_schema)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"an Avro schema is JSON text: {error}. Got {json_schema!r:.120}") from error
        return AvroSchema(definition)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema in a local file, usually one with a name ending in ``.avsc``."""
        with open(file_path, encoding="utf-8") as file:
            return AvroSchema.parse_string(file.read())

    @property
    def parsed(self) -> Any:
        """The schema as fastavro takes it."""
        return self._parsed

    @property
    def definition(self) -> Any:
        """The schema as it was written, out of its JSON text."""
        return self._definition

    def type_info(self) -> TypeInformation:
        """The declared type of what the schema describes: records are rows."""
        return _Types().type_of(self._definition, "")

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self._definition,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and self._definition == other._definition

    def __hash__(self) -> int:
        return hash(json.dumps(self._definition, sort_keys=True))

    def __str__(self) -> str:
        return json.dumps(self._definition)


class GenericRecordAvroTypeInfo(TypeInformation):
    """The declared type of records of an Avro schema, which are dicts here.

    :param schema: What the records look like.
    """

    def __init__(self, schema: AvroSchema) -> None:
        if not isinstance(schema, AvroSchema):
            raise ConfigurationError(
                f"an Avro type is made of an AvroSchema, got {schema!r}. See AvroSchema.parse_string."
            )
        self._schema = schema

    @property
    def schema(self) -> AvroSchema:
        """What the records look like."""
        return self._schema

    def find_mismatch(self, value: Any) -> Mismatch | None:
        """Why `value` is no record of the schema, or None if it is one."""
        validation = fastavro_module("fastavro.validation")
        try:
            validation.validate(value, self._schema.parsed)
        except validation.ValidationError as error:
            return Mismatch("", "; ".join(map(str, error.errors)))
        return None

    def _identity(self) -> tuple[Any, ...]:
        return (self._schema,)

    def __repr__(self) -> str:
        return f"GenericRecord({self._schema})"


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads one Avro record per message, in binary form without a header, as a Row.

    ::

        AvroRowDeserializationSchema(avro_schema_string='{"type": "record", "name": "Ride", "fields": [...]}')

    :param record_class: A dataclass or another annotated class, from whose fields the schema is made.
    :param avro_schema_string: The schema as JSON text, instead of a class.
    """

    def __init__(self, record_class: type | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _record_schema(record_class, avro_schema_string, "AvroRowDeserializationSchema")
        self._convert = _Rows().reader(self._schema.definition, "")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, str(self._schema))

    def deserialize(self, message: bytes) -> Row:
        """The row of one message.

        :raises MalformedRecordError: The message cannot be read.
        """
        stream = io.BytesIO(message)
        try:
            row: Row = self._convert(fastavro_module().schemaless_reader(stream, self._schema.parsed, None))
            rest = len(message) - stream.tell()
        except (EOFError, IndexError) as error:
            raise malformed("Avro", message, ValueError("it ends inside the record")) from error
        except (ValueError, OverflowError) as error:
            raise malformed("Avro", message, error) from error
        if rest:
            raise malformed("Avro", message, ValueError(f"{rest} bytes are left behind the record"))
        return row

    def get_produced_type(self) -> TypeInformation:
        """The row type of the schema."""
        return self._schema.type_info()


class AvroRowSerializationSchema(SerializationSchema):
    """Writes Rows as Avro records in binary form without a header, one per message.

    :param record_class: A dataclass or another annotated class, from whose fields the schema is made.
    :param avro_schema_string: The schema as JSON text, instead of a class.
    """

    def __init__(self, record_class: type | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _record_schema(record_class, avro_schema_string, "AvroRowSerializationSchema")
        self._convert = _Rows().writer(self._schema.definition, "")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (None, str(self._schema))

    def serialize(self, element: Any) -> bytes:
        """The Avro record of one record.

        :raises TypeMismatchError: The record does not fit the schema.
        """
        stream = io.BytesIO()
        try:
            fastavro_module().schemaless_writer(stream, self._schema.parsed, self._convert(element), strict=True)
        except (TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
            if isinstance(error, TypeMismatchError):
                raise
            raise TypeMismatchError(
                f"a record does not fit its Avro schema: {error}. Got {element!r:.120}, the schema is {self._schema}."
            ) from error
        return stream.getvalue()


def _record_schema(record_class: Any, avro_schema_string: str | None, where: str) -> AvroSchema:
    if (record_class is None) == (avro_schema_string is None):
        raise ConfigurationError(f"{where} takes either record_class or avro_schema_string, one of the two.")
    if avro_schema_string is not None:
        schema = AvroSchema.parse_string(avro_schema_string)
        if not isinstance(schema.definition, dict) or schema.definition.get("type") != "record":
            raise ConfigurationError(f"{where} takes the schema of a record, got {schema}.")
        return schema
    if not isinstance(record_class, type):
        raise UnsupportedError(
            f"{where} was given the record class {record_class!r}. There are no Java classes here: pass a dataclass, "
            "or the schema as avro_schema_string."
        )
    kind = extract_type(record_class)
    if not isinstance(kind, PojoTypeInfo):
        raise ConfigurationError(f"{where} takes a class with typed fields, such as a dataclass, got {record_class!r}.")
    return AvroSchema(_definition_of(kind, record_class.__name__))


# --- types --------------------------------------------------------------------------------------------

_PRIMITIVES: dict[str, TypeInformation] = {
    "boolean": Types.BOOLEAN(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "string": Types.STRING(),
    "bytes": BYTES,
    "fixed": BYTES,
    "enum": Types.STRING(),
    "null": Types.PICKLED_BYTE_ARRAY(),
}
_LOGICAL: dict[str, TypeInformation] = {
    "decimal": Types.BIG_DEC(),
    "date": Types.SQL_DATE(),
    "time-millis": Types.SQL_TIME(),
    "time-micros": Types.SQL_TIME(),
    "timestamp-millis": Types.SQL_TIMESTAMP(),
    "timestamp-micros": Types.SQL_TIMESTAMP(),
    "local-timestamp-millis": Types.SQL_TIMESTAMP(),
    "local-timestamp-micros": Types.SQL_TIMESTAMP(),
}


class _Schemas:
    """Walks over a schema; knows the named types that have come by."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def resolved(self, definition: Any, namespace: str) -> tuple[Any, str]:
        """A part of a schema, with a name replaced by what it names, and the namespace inside it."""
        if isinstance(definition, str) and definition not in _PRIMITIVES:
            full = definition if "." in definition or not namespace else f"{namespace}.{definition}"
            return self._named.get(full, self._named.get(definition)), namespace
        if isinstance(definition, dict) and "name" in definition:
            name, space = definition["name"], definition.get("namespace", namespace)
            full = name if "." in name or not space else f"{space}.{name}"
            self._named[full] = definition
            return definition, full.rpartition(".")[0]
        return definition, namespace


class _Types(_Schemas):
    def type_of(self, definition: Any, namespace: str, above: tuple[int, ...] = ()) -> TypeInformation:
        definition, namespace = self.resolved(definition, namespace)
        if id(definition) in above:
            return Types.PICKLED_BYTE_ARRAY()  # a record inside itself: a declared type cannot hold itself
        if isinstance(definition, str):
            return _PRIMITIVES[definition]
        if isinstance(definition, list):
            some = [part for part in definition if part != "null"]
            return self.type_of(some[0], namespace, above) if len(some) == 1 else Types.PICKLED_BYTE_ARRAY()
        kind, above = definition["type"], (*above, id(definition))
        if kind == "record":
            fields = definition["fields"]
            kinds = [self.type_of(field["type"], namespace, above) for field in fields]
            return Types.ROW_NAMED([field["name"] for field in fields], kinds)
        if kind == "array":
            return Types.OBJECT_ARRAY(self.type_of(definition["items"], namespace, above))
        if kind == "map":
            return Types.MAP(Types.STRING(), self.type_of(definition["values"], namespace, above))
        if isinstance(kind, (dict, list)):
            return self.type_of(kind, namespace, above)
        return _LOGICAL.get(definition.get("logicalType", ""), _PRIMITIVES[kind])


_Convert = Callable[[Any], Any]


class _Rows(_Schemas):
    """Makes the functions between what fastavro reads and writes (dicts) and Rows."""

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[int, list[_Convert]] = {}

    def reader(self, definition: Any, namespace: str) -> _Convert:
        return self._make(definition, namespace, self.reader, self._record_reader)

    def writer(self, definition: Any, namespace: str) -> _Convert:
        return self._make(definition, namespace, self.writer, self._record_writer)

    def _make(self, definition: Any, namespace: str, again: Any, record: Any) -> _Convert:
        definition, namespace = self.resolved(definition, namespace)
        if isinstance(definition, list):
            some = [part for part in definition if part != "null"]
            if len(some) != 1:
                return _plain_rows
            convert = again(some[0], namespace)
            return lambda value: None if value is None else convert(value)
        kind = definition["type"] if isinstance(definition, dict) else definition
        if kind == "record":
            if id(definition) in self._made:
                holder = self._made[id(definition)]  # filled when the record around is done
                return lambda value: holder[0](value)
            holder = self._made[id(definition)] = []
            holder.append(record(definition, namespace))
            return holder[0]
        if kind == "array":
            element = again(definition["items"], namespace)
            return lambda values: [element(value) for value in values]
        if kind == "map":
            item = again(definition["values"], namespace)
            return lambda value: {key: item(held) for key, held in value.items()}
        if isinstance(kind, (dict, list)):
            return again(kind, namespace)  # type: ignore[no-any-return]
        if again == self.reader:
            return _without_zone
        is_moment = isinstance(definition, dict) and definition.get("logicalType", "").startswith("timestamp-")
        return _in_utc if is_moment else _same

    def _record_reader(self, definition: Any, namespace: str) -> _Convert:
        names = [field["name"] for field in definition["fields"]]
        converters = [self.reader(field["type"], namespace) for field in definition["fields"]]
        template = Row(*names)
        return lambda value: template(*(convert(value[name]) for name, convert in zip(names, converters)))

    def _record_writer(self, definition: Any, namespace: str) -> _Convert:
        names = [field["name"] for field in definition["fields"]]
        converters = [self.writer(field["type"], namespace) for field in definition["fields"]]

        def write(value: Any) -> dict[str, Any]:
            values = field_values(value, names, "Avro")
            return {
                name: None if item is None else convert(item) for name, item, convert in zip(names, values, converters)
            }

        return write


def _without_zone(value: Any) -> Any:
    """Avro's points in time as dates and times of UTC, as SQL_TIMESTAMP has them; all else as it is."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return value


def _in_utc(value: Any) -> Any:
    """The other way: without a zone it would count as one of the machine's zone."""
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=datetime.timezone.utc)
    return value


def _same(value: Any) -> Any:
    return value


def _plain_rows(value: Any) -> Any:
    """For a choice of types: a Row goes to Avro as a dict, and what comes from Avro stays as it is."""
    return value.as_dict(recursive=True) if isinstance(value, Row) else value


# --- schemas from types -------------------------------------------------------------------------------


def _definition_of(kind: TypeInformation, name: str) -> Any:
    """The Avro schema of a declared type."""
    if isinstance(kind, NullableTypeInfo):
        return _nullable(_definition_of(kind.value_type_info, name))
    if isinstance(kind, (RowTypeInfo, PojoTypeInfo)):
        pairs = zip(kind.get_field_names(), kind.get_field_types())
        fields = [
            {"name": field, "type": _nullable(_definition_of(part, f"{name}_{field}")), "default": None}
            for field, part in pairs
        ]
        return {"type": "record", "name": name, "fields": fields}
    if isinstance(kind, MapTypeInfo) and kind.key_type == Types.STRING():
        return {"type": "map", "values": _nullable(_definition_of(kind.value_type, name))}
    if isinstance(kind, _ArrayTypeInfo) and kind != BYTES:
        return {"type": "array", "items": _nullable(_definition_of(kind.element_type, name))}
    for known, definition in _DEFINITIONS:
        if kind == known:
            return definition
    raise UnsupportedError(f"{name} is of {kind}, which has no Avro schema here. Pass avro_schema_string instead.")


def _nullable(definition: Any) -> Any:
    return definition if isinstance(definition, list) else ["null", definition]


_DEFINITIONS: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), "string"),
    (Types.BOOLEAN(), "boolean"),
    *((kind, "int") for kind in (Types.BYTE(), Types.SHORT(), Types.INT())),
    (Types.LONG(), "long"),
    (Types.FLOAT(), "float"),
    (Types.DOUBLE(), "double"),
    (BYTES, "bytes"),
    (Types.BIG_DEC(), {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18}),
    (Types.SQL_DATE(), {"type": "int", "logicalType": "date"}),
    (Types.SQL_TIME(), {"type": "long", "logicalType": "time-micros"}),
    (Types.SQL_TIMESTAMP(), {"type": "long", "logicalType": "timestamp-micros"}),
]
