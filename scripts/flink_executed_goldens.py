"""Run queries on Flink: rewrite tests/flink_goldens/executed.

This needs an environment with apache-flink (and Java): `make flink-goldens` makes one and runs this in it.

Each file has ``tables``, statements that make the tables, and ``cases``: ``sql`` is a query, ``mode`` streaming or
batch, ``settings`` options of the session if there are any, ``printed`` what Flink prints: the whole changelog in
streaming mode, the final rows in batch mode. Where it refuses, ``printed`` is null. ``--new-only`` asks only what has
no answer; names of files choose some.
"""

import json
import sys
from pathlib import Path

from flink_printed_goldens import printed
from pyflink.table import EnvironmentSettings, TableEnvironment

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "executed"
REWRITE = "--new-only" not in sys.argv


def environment(mode: str, tables: list[str], settings: dict[str, str]) -> TableEnvironment:
    """A session with the tables."""
    chosen = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    env = TableEnvironment.create(chosen)
    env.get_config().set("parallelism.default", "1").set("table.local-time-zone", "UTC")
    for key, value in settings.items():
        env.get_config().set(key, value)
    for statement in tables:
        env.execute_sql(statement)
    return env


def answer(path: Path) -> None:
    """Rewrite the answers of one file."""
    content = json.loads(path.read_text())
    environments: dict[str, TableEnvironment] = {}
    for case in content["cases"]:
        settings = case.get("settings", {})
        name = case["mode"] + json.dumps(settings)
        if name not in environments:
            environments[name] = environment(case["mode"], content["tables"], settings)
        if case.get("printed") and not REWRITE:
            continue
        try:
            case["printed"] = printed(environments[name], case["sql"])
        except Exception as error:  # Py4J wraps whatever Java throws
            print(f"refused: {case['sql']}\n  {str(error)[:300]}")
            case["printed"] = None
        store(path, content)  # what is answered stays answered
    print(f"{path.name}: {len(content['cases'])} cases")


def store(path: Path, content: dict) -> None:
    """Write a file of cases, one to a line."""
    tables = ",\n".join(f"  {json.dumps(each)}" for each in content["tables"])
    cases = ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in content["cases"])
    path.write_text(f'{{"tables": [\n{tables}\n], "cases": [\n{cases}\n]}}\n')


if __name__ == "__main__":
    for file in [PLACE / name for name in sys.argv[1:] if name != "--new-only"] or sorted(PLACE.glob("*.json")):
        answer(file)
