"""Reading lines of fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.dataset.outputs import parse_csv
from firesteel.dataset.plan.nodes import Node, TextNode
from firesteel.errors import ConfigurationError, MalformedRecordError
from firesteel.plan.graph import user_call_site

if TYPE_CHECKING:
    from firesteel.dataset.data_set import DataSet

__all__ = ["CsvReader"]

_TRUE, _FALSE = "true", "false"


class CsvReader:
    """How a file of fields is read; :meth:`types`, :meth:`tuple_type` or :meth:`pojo_type` gives the data set."""

    def __init__(self, path: str, make: Callable[[Node], DataSet]) -> None:
        self._path = path
        self._make = make
        self._field_delimiter = ","
        self._line_delimiter: str | None = None
        self._quote: str | None = None
        self._comment: str | None = None
        self._skip_first = False
        self._lenient = False
        self._included: tuple[bool, ...] | None = None

    def field_delimiter(self, delimiter: str) -> CsvReader:
        """What is between fields; a comma if it is not set."""
        self._field_delimiter = delimiter
        return self

    def line_delimiter(self, delimiter: str) -> CsvReader:
        """What is between lines; the end of a line if it is not set."""
        self._line_delimiter = delimiter
        return self

    def parse_quoted_strings(self, quote_character: str = '"') -> CsvReader:
        """Take fields in quotes as they are; a quote within one is doubled."""
        self._quote = quote_character
        return self

    def ignore_comments(self, prefix: str) -> CsvReader:
        """Leave out lines that begin so."""
        self._comment = prefix
        return self

    def ignore_first_line(self) -> CsvReader:
        """Leave out the first line of each file: headings."""
        self._skip_first = True
        return self

    def ignore_invalid_lines(self) -> CsvReader:
        """Leave out lines that cannot be read as the types say; otherwise the program fails, naming the line."""
        self._lenient = True
        return self

    def include_fields(self, *fields: bool | str | int) -> CsvReader:
        """Which fields to read: booleans, a text such as ``"1011"``, or a number whose lowest bit is field 0."""
        if len(fields) == 1 and isinstance(fields[0], str):
            self._included = tuple(letter in "1tT" for letter in fields[0])
        elif len(fields) == 1 and isinstance(fields[0], int) and not isinstance(fields[0], bool):
            mask = fields[0]
            self._included = tuple(bool(mask >> place & 1) for place in range(mask.bit_length()))
        else:
            self._included = tuple(map(bool, fields))
        return self

    def types(self, *types: type) -> DataSet:
        """Tuples with fields of these classes: ``str``, ``int``, ``float``, ``bool``, or any function of a text."""
        if not types:
            raise ConfigurationError("types: name the classes of the fields, for example types(str, int)")
        return self._data_set(types, tuple)

    def tuple_type(self, cls: type) -> DataSet:
        """Named tuples: of a class with annotated fields."""
        annotations = getattr(cls, "__annotations__", None)
        if not issubclass(cls, tuple) or not annotations:
            raise ConfigurationError(f"tuple_type: expected a NamedTuple class, got {cls!r}")
        return self._data_set([_resolve(each) for each in annotations.values()], lambda fields: cls(*fields))

    def pojo_type(self, cls: type, fields: Sequence[str] | None = None) -> DataSet:
        """Objects of a class with annotated fields, such as a dataclass.

        :param fields: The names of the fields in the order of the file; that of the class if not given.
        """
        annotations = dict(getattr(cls, "__annotations__", {}))
        names = list(fields or annotations)
        missing = [name for name in names if name not in annotations]
        if missing or not names:
            raise ConfigurationError(
                f"pojo_type: {cls.__name__} has no annotated field {missing[0] if missing else 'at all'!r}; "
                f"it has: {', '.join(annotations) or 'none'}"
            )
        types = [_resolve(annotations[name]) for name in names]
        return self._data_set(types, lambda values: cls(**dict(zip(names, values))))

    def _data_set(self, types: Sequence[Callable[[str], Any]], build: Callable[[Any], Any]) -> DataSet:
        parse = _Lines(self, [_converter(each) for each in types], build)
        node = TextNode(
            f"CSV {self._path}",
            user_call_site(),
            path=self._path,
            delimiter=self._line_delimiter,
            parse=parse,
            skip_first=self._skip_first,
        )
        return self._make(node)

    def settings(self) -> tuple[str, str | None, str | None, bool, tuple[bool, ...] | None]:
        """What the tasks have to know: field delimiter, quote, comment, leniency, which fields."""
        return self._field_delimiter, self._quote, self._comment, self._lenient, self._included


class _Lines:
    """From lines to records; sent to the tasks."""

    def __init__(self, reader: CsvReader, converters: list[Callable[[str], Any]], build: Callable[[Any], Any]) -> None:
        self._delimiter, self._quote, self._comment, self._lenient, self._included = reader.settings()
        self._converters = converters
        self._build = build

    def __call__(self, lines: Iterator[str]) -> Iterator[Any]:
        comment, quote, delimiter = self._comment, self._quote, self._delimiter
        for line in lines:
            if not line or (comment is not None and line.startswith(comment)):
                continue
            if quote is None or quote not in line:
                fields = line.split(delimiter)
            else:
                (fields,) = parse_csv([line], delimiter, quote)
            try:
                yield self._build(self._convert(fields))
            except (ValueError, TypeError) as error:
                if not self._lenient:
                    raise MalformedRecordError(
                        f"line {line!r:.200} cannot be read as {len(self._converters)} fields of these types: {error}. "
                        "Call ignore_invalid_lines() to leave out such lines"
                    ) from error

    def _convert(self, fields: list[str]) -> tuple[Any, ...]:
        if self._included is not None:
            fields = [field for field, wanted in zip(fields, self._included) if wanted]
        if len(fields) < len(self._converters):
            raise ValueError(f"it has {len(fields)} fields")
        return tuple([convert(field) for convert, field in zip(self._converters, fields)])


def _converter(cls: Callable[[str], Any]) -> Callable[[str], Any]:
    return _boolean if cls is bool else cls


def _boolean(text: str) -> bool:
    lower = text.strip().lower()
    if lower not in (_TRUE, _FALSE):
        raise ValueError(f"{text!r} is neither true nor false")
    return lower == _TRUE


def _resolve(annotation: Any) -> Callable[[str], Any]:
    """A class from an annotation, which is a text where annotations are postponed."""
    found = {"str": str, "int": int, "float": float, "bool": bool}.get(annotation, annotation)
    if not callable(found):
        raise ConfigurationError(
            f"a field of a CSV file is annotated as {annotation!r}; expected str, int, float or bool"
        )
    converter: Callable[[str], Any] = found
    return converter
