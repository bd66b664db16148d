"""Ask Flink for whole changelogs of queries over time: rewrite tests/flink_goldens/changelogs.

This needs an environment with apache-flink (and Java): `make flink-goldens` makes one and runs this in it.

Each file has ``columns`` and ``rows`` of the table ``s``, its ``watermark``, ``views`` upon it, and ``cases``: ``sql``
is a query, ``changes`` what Flink emits, or ``error`` why it refuses. Rows come one by one, slowly enough that each has
gone through all operators before the next one, and each brings its watermark: so the order of changes is defined.
"""

import json
import re
import sys
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "changelogs"
SETTINGS = {
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    "pipeline.auto-watermark-interval": "0 ms",
    "execution.buffer-timeout.interval": "0 ms",
}


def literal(value: object, kind: str) -> str:
    """A value as SQL."""
    if value is None:
        return f"CAST(NULL AS {kind})"
    return f"CAST('{value}' AS {kind})" if isinstance(value, str) else f"CAST({value} AS {kind})"


def source(content: dict) -> str:
    """The statement that makes the table: its rows are elements of arrays, by a number that rises slowly."""
    columns = ["id INT"]
    for at, (name, kind) in enumerate(content["columns"]):
        values = ", ".join(literal(row[at], kind) for row in content["rows"])
        columns.append(f"{name} AS ARRAY[{values}][id]")
    columns += ["pt AS PROCTIME()", content["watermark"]]
    options = {
        "connector": "datagen",
        "rows-per-second": "20",
        "fields.id.kind": "sequence",
        "fields.id.start": "1",
        "fields.id.end": str(len(content["rows"])),
    }
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TEMPORARY TABLE s ({', '.join(columns)}) WITH ({shown})"


def answer(path: Path) -> None:
    """Rewrite the answers of one file."""
    content = json.loads(path.read_text())
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in SETTINGS.items():
        env.get_config().set(key, value)
    env.execute_sql(source(content))
    for view in content["views"]:
        env.execute_sql(view)
    for case in content["cases"]:
        case.pop("error", None)
        case.pop("changes", None)
        try:
            with env.execute_sql(case["sql"]).collect() as rows:
                case["changes"] = [" ".join([str(row.get_row_kind()).split(".")[-1], *map(str, row)]) for row in rows]
        except Exception as error:  # Py4J wraps whatever Java throws
            found = re.findall(r"(?:TableException|ValidationException|OperationException): (.*)", str(error))
            case["error"] = found[-1] if found else str(error)[:200]
            print(f"refused: {case['sql']}\n  {case['error']}")
    parts = {key: json.dumps(content[key]) for key in ("columns", "watermark")}
    for key in ("rows", "views", "cases"):
        lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in content[key])
        parts[key] = f"[\n{lines}\n]"
    path.write_text("{" + ",\n".join(f'"{key}": {text}' for key, text in parts.items()) + "}\n")
    print(f"{path.name}: {len(content['cases'])} cases")


if __name__ == "__main__":
    for file in [PLACE / name for name in sys.argv[1:]] or sorted(PLACE.glob("*.json")):
        answer(file)
