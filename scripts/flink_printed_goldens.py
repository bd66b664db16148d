"""Ask Flink how it prints results: rewrite tests/flink_goldens/printed.

This needs an environment with apache-flink (and Java): `make flink-goldens` makes one and runs this in it.

``rows.json`` is a list of cases: ``sql`` is a query, ``mode`` streaming or batch, ``printed`` what Flink prints.
"""

import json
from pathlib import Path

from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "printed"


def printed(env: TableEnvironment, sql: str) -> str:
    """What a statement prints, which Java writes to its own output."""
    jvm = get_gateway().jvm
    out, usual = jvm.java.io.ByteArrayOutputStream(), jvm.System.out
    jvm.System.setOut(jvm.java.io.PrintStream(out, True, "UTF-8"))
    try:
        env.execute_sql(sql)._j_table_result.print()
    finally:
        jvm.System.setOut(usual)
    return out.toString("UTF-8")


def main() -> None:
    """Rewrite the answers of all cases."""
    settings = {"streaming": EnvironmentSettings.in_streaming_mode(), "batch": EnvironmentSettings.in_batch_mode()}
    environments = {mode: TableEnvironment.create(each) for mode, each in settings.items()}
    for env in environments.values():
        env.get_config().set("parallelism.default", "1").set("table.local-time-zone", "UTC")
    path = PLACE / "rows.json"
    cases = json.loads(path.read_text())
    for case in cases:
        case["printed"] = printed(environments[case["mode"]], case["sql"])
    path.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(f"{path.name}: {len(cases)} cases")


if __name__ == "__main__":
    main()
