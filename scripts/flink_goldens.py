"""Run every case of tests/flink_goldens/values.json on Flink itself, and write down what it did.

This needs an environment with apache-flink (and Java): `make flink-goldens` makes one and runs this in it. A case is a
declared type and a value, both Python expressions. Recorded are, as text, or null where Flink fails:

- ``collected``: what ``print()`` writes for the value as it comes from a collection of that type,
- ``seen``: ``repr()`` of the value in a function behind the collection.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PLACE = Path(__file__).parent.parent / "tests" / "flink_goldens" / "values.json"
KINDS = ("collected", "seen")
LINE = re.compile(rf"^({'|'.join(KINDS)})(\d+)> (.*)$", re.MULTILINE)
AT_ONCE = 24
IMPORTS = """
import datetime, decimal
from pyflink.common import Instant, Row, Types
from pyflink.datastream import StreamExecutionEnvironment
"""


def run_cases(numbered: list[tuple[int, dict]]) -> None:
    """Run all cases, in this process, whose output the recording process reads."""
    for kind in KINDS:
        for start in range(0, len(numbered), AT_ONCE):
            part = numbered[start : start + AT_ONCE]
            if not run_job(kind, part):
                for case in part:
                    run_job(kind, [case])


def run_job(kind: str, numbered: list[tuple[int, dict]]) -> bool:
    """Run some cases as one job; whether it came to its end."""
    names: dict = {}
    exec(IMPORTS, names)
    env = names["StreamExecutionEnvironment"].get_execution_environment()
    env.set_parallelism(1)
    try:
        for number, case in numbered:
            type_info, value = eval(case["type"], names), eval(case["value"], names)
            stream = env.from_collection([value], type_info=type_info)
            if kind == "seen":
                stream = stream.map(repr, output_type=names["Types"].STRING())
            label = f"{kind}{number}"
            # PyFlink writes rows in a way of its own, Flink itself as everywhere else.
            stream._j_data_stream.print(label) if "ROW" in case["type"] else stream.print(label)
        env.execute("goldens")
    except Exception as error:
        if len(numbered) == 1:
            print(f"{kind} fails: {case['type']} {case['value']}: {str(error).splitlines()[0]}", file=sys.stderr)
        return False
    return True


def main() -> None:
    """Record all cases, or run them for the recording process."""
    cases = json.loads(PLACE.read_text())
    if sys.argv[1:] == ["--run"]:
        run_cases(list(enumerate(cases)))
        return
    # The JVM asks for `python` to find PyFlink; loopback lets the functions run in the process that started it.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "_python_worker_execution_mode": "loopback", "TZ": "UTC", "PATH": path}
    command = [sys.executable, __file__, "--run"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=True)
    # A batch that fails may have printed some of its cases; they print the same again when they are run alone.
    found = {(kind, int(number)): text for kind, number, text in LINE.findall(done.stdout)}
    for number, case in enumerate(cases):
        case.update({kind: found.get((kind, number)) for kind in KINDS})
    PLACE.write_text("[\n" + ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
