"""Ask Flink which columns queries have: rewrite tests/flink_goldens/queries.

This needs an environment with apache-flink (and Java): `make flink-goldens` makes one and runs this in it.

``tables.json`` holds the tables and views that the queries read, as SQL. ``columns.json`` is a list of cases: ``sql``
is a query, ``columns`` the names and types that Flink gives its columns, or ``error`` what Flink says against it.
"""

import json
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "queries"


def ask(env: TableEnvironment, case: dict) -> dict:
    """The columns of a query, or Flink's last word on it."""
    try:
        columns = env.sql_query(case["sql"])._j_table.getResolvedSchema().getColumns()
    except Exception as error:  # Py4J's errors carry Java's
        cause = error.java_exception if hasattr(error, "java_exception") else error
        while hasattr(cause, "getCause") and cause.getCause() is not None:
            cause = cause.getCause()
        text = cause.getMessage() if hasattr(cause, "getMessage") else str(error)
        return {"sql": case["sql"], "error": (text or str(cause)).splitlines()[0]}
    types = [[each.getName(), each.getDataType().getLogicalType().asSummaryString()] for each in columns]
    return {"sql": case["sql"], "columns": types}


def main() -> None:
    """Rewrite the answers of all cases."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in json.loads((PLACE / "tables.json").read_text()):
        env.execute_sql(statement)
    path = PLACE / "columns.json"
    cases = [ask(env, case) for case in json.loads(path.read_text())]
    path.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(f"{path.name}: {len(cases)} cases, {sum('error' in case for case in cases)} refused")


if __name__ == "__main__":
    main()
