"""Ask Flink about its SQL types and functions: rewrite tests/flink_goldens/sql.

This needs an environment with apache-flink (and Java): `make flink-goldens` makes one and runs this in it.

- ``types.json``: of each pair of types the common one, and whether values can be cast; the results of DECIMALs.
- every other file: a list of cases. ``sql`` is an expression; recorded are ``type`` (of the result) and ``text`` (the
  value, cast to STRING; bytes as ISO-8859-1, variants as JSON), or ``error`` where Flink refuses it or fails. ``zone``
  is the session's time zone, UTC unless given. ``from`` is what stands behind FROM, for aggregates.

Names of files as arguments limit it to these.
"""

import json
import sys
from pathlib import Path

from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "sql"
AT_ONCE = 100
BYTES = ("BYTES", "BINARY", "VARBINARY")
TEXTS = ("CHAR", "VARCHAR", "STRING")


def ask_about_types(path: Path) -> None:
    """Rewrite the answers of Flink's own classes for the types listed in the file."""
    jvm = get_gateway().jvm
    utils = jvm.org.apache.flink.table.types.logical.utils
    loader = jvm.Thread.currentThread().getContextClassLoader()
    golden = json.loads(path.read_text())
    types = {text: utils.LogicalTypeParser.parse(text, loader) for text in golden["types"]}
    common, implicit, explicit = {}, [], []
    for a, left in types.items():
        for b, right in types.items():
            both = jvm.java.util.ArrayList()
            both.add(left)
            both.add(right)
            merged = utils.LogicalTypeMerging.findCommonType(both)
            if merged.isPresent():
                common[f"{a} & {b}"] = merged.get().asSummaryString()
            implicit += [f"{a} > {b}"] if utils.LogicalTypeCasts.supportsImplicitCast(left, right) else []
            explicit += [f"{a} > {b}"] if utils.LogicalTypeCasts.supportsExplicitCast(left, right) else []
    golden.update(common=common, implicit=implicit, explicit=explicit)
    golden["serializable"] = {text: kind.asSerializableString() for text, kind in types.items() if text != "NULL"}
    golden["decimals"] = {key: decimal_results(jvm, key) for key in golden["decimals"]}
    path.write_text(json.dumps(golden, indent=0) + "\n")


def decimal_results(jvm: object, key: str) -> dict:
    """The types of all operations on one or two DECIMALs, given as ``precision,scale``."""
    merging = jvm.org.apache.flink.table.types.logical.utils.LogicalTypeMerging
    numbers = [int(number) for each in key.split() for number in each.split(",")]
    if len(numbers) == 4:
        rules = {"add": "Addition", "mul": "Multiplication", "div": "Division", "mod": "Modulo"}
        return {
            name: getattr(merging, f"find{rule}DecimalType")(*numbers).asSummaryString() for name, rule in rules.items()
        }
    decimal = jvm.org.apache.flink.table.types.logical.DecimalType(*numbers)
    results = {"sum": merging.findSumAggType(decimal), "avg": merging.findAvgAggType(decimal)}
    results |= {f"round{digits}": merging.findRoundDecimalType(*numbers, digits) for digits in (0, 1, 3, 40, -1)}
    return {name: result.asSummaryString() for name, result in results.items()}


def ask_about_cases(env: TableEnvironment, path: Path) -> None:
    """Rewrite what Flink makes of each case of a file."""
    cases = json.loads(path.read_text())
    groups: dict = {}
    for case in cases:
        groups.setdefault((case.get("zone", "UTC"), case.get("from", "")), []).append(case)
    for (zone, source), group in groups.items():
        env.get_config().set("table.local-time-zone", zone)
        valid = [case for case in group if find_type(env, case, source)]
        alone = [case for case in valid if case.get("fails")]
        together = [case for case in valid if not case.get("fails")]
        parts = [together[start : start + AT_ONCE] for start in range(0, len(together), AT_ONCE)]
        for part in parts + [[case] for case in alone]:
            evaluate(env, part, source)
    path.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")
    print(f"{path.name}: {len(cases)} cases, {sum('error' in case for case in cases)} refused")


def find_type(env: TableEnvironment, case: dict, source: str) -> bool:
    """Write down the type of a case's result; whether Flink takes the expression at all."""
    for key in ("type", "text", "error"):
        case.pop(key, None)
    try:
        table = env.sql_query(f"SELECT {case['sql']}{source and ' FROM '}{source}")
    except Exception as error:
        case["error"] = reason(error)
        return False
    kinds = table._j_table.getResolvedSchema().getColumnDataTypes()
    case["type"] = kinds.get(0).getLogicalType().asSummaryString()
    return True


def evaluate(env: TableEnvironment, cases: list, source: str) -> None:
    """Write down the values of cases that are run in one job; by halves, should it fail."""
    columns = ", ".join(as_text(case) for case in cases)
    try:
        rows = list(env.sql_query(f"SELECT {columns}{source and ' FROM '}{source}").execute().collect())
    except Exception as error:
        if len(cases) == 1:
            cases[0].update(error=reason(error))
        elif cases:
            evaluate(env, cases[: len(cases) // 2], source)
            evaluate(env, cases[len(cases) // 2 :], source)
        return
    for case, text in zip(cases, rows[0] if rows else []):
        case["text"] = text


def as_text(case: dict) -> str:
    """The expression, made a text."""
    if case["type"].startswith(BYTES):
        return f"DECODE({case['sql']}, 'ISO-8859-1')"
    if case["type"].startswith("VARIANT"):
        return f"JSON_STRING({case['sql']})"
    return case["sql"] if case["type"].startswith(TEXTS) else f"CAST({case['sql']} AS STRING)"


def reason(error: Exception) -> str:
    """The innermost exception's first line."""
    lines = [line for line in str(error).splitlines() if "Exception" in line or "Error" in line]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by")]
    return (causes or lines or [str(error)])[-1][:200]


def main() -> None:
    """Rewrite all files, or those named."""
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set("parallelism.default", "1")
    for path in [PLACE / name for name in sys.argv[1:]] or sorted(PLACE.glob("*.json")):
        ask_about_types(path) if path.name == "types.json" else ask_about_cases(env, path)


if __name__ == "__main__":
    main()
