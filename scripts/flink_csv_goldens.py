"""Write tests/flink_goldens/csv.json: which lines Flink's own CSV schema writes.

This needs an environment with apache-flink: `make flink-goldens` makes one and runs this in it.
"""

import json
from pathlib import Path
from typing import Any

from pyflink.common import Types
from pyflink.datastream.formats.csv import CsvRowSerializationSchema
from pyflink.java_gateway import get_gateway

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "csv.json"
LONG = [letter * count for letter, count in (("x", 24), ("x", 25), ("y", 30))]
TEXTS = ["a", "", "a b", "a,b", 'a"b', "a\nb", "a\rb", "a;b", "a-b", "a.b", "a/b", "a:b", "1", *LONG, "ü", "a'b", "#a"]
TEXTS += ["a\\b", "\t", "a|b", "Ab_c~", "{a}", " lead", "+1", "a!b", "a(b)", "null"]
DIALECTS: list[list[tuple[str, list[str]]]] = [
    [],
    [("set_field_delimiter", [";"])],
    [("set_field_delimiter", ["\t"])],
    [("set_field_delimiter", ["|"])],
    [("set_quote_character", ["'"])],
    [("disable_quote_character", [])],
    [("set_escape_character", ["\\"])],
    [("set_null_literal", ["null"])],
    [("set_line_delimiter", ["\r\n"])],
]
OTHERS = [("Types.BOOLEAN()", True), ("Types.DOUBLE()", 1.5), ("Types.DOUBLE()", 1e10), ("Types.DOUBLE()", 0.1)]
OTHERS += [("Types.OBJECT_ARRAY(Types.STRING())", ["a", "b c"])]


def line(dialect: list[tuple[str, list[str]]], kind: str, value: Any) -> str:
    """The line of a row of a value and the number 7."""
    builder = CsvRowSerializationSchema.Builder(Types.ROW([eval(kind), Types.INT()]))
    for method, arguments in dialect:
        getattr(builder, method)(*arguments)
    schema = builder.build()._j_serialization_schema
    schema.open(None)
    row = get_gateway().jvm.org.apache.flink.types.Row(2)
    row.setField(0, _java(value))
    row.setField(1, 7)
    return bytes(schema.serialize(row)).decode()


def _java(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    array = get_gateway().new_array(get_gateway().jvm.java.lang.String, len(value))
    for index, item in enumerate(value):
        array[index] = item
    return array


def main() -> None:
    """Write the file."""
    cases = [(dialect, "Types.STRING()", text) for dialect in DIALECTS for text in [*TEXTS, None]]
    cases += [(dialect, kind, value) for dialect in DIALECTS[:2] for kind, value in OTHERS]
    rows = [
        {"dialect": dialect, "type": kind, "value": value, "line": line(dialect, kind, value)}
        for dialect, kind, value in cases
    ]
    PLACE.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
