"""Ask Flink's own parser about the statements of tests/flink_goldens/sql_parser: rewrite sql_parser.json beside it.

This needs an environment with apache-flink: `make flink-goldens` makes one and runs this in it. The parser is in a
jar within a jar, which is unpacked here; it is called through py4j, without any cluster.

Beside the verdict stands what Flink makes of the text when it writes it again, which shows how it was understood.
"""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import py4j
import pyflink
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

HERE = Path(__file__).parent.parent / "tests" / "flink_goldens"
FOLDER, PLACE = HERE / "sql_parser", HERE / "sql_parser.json"
LIBRARIES = Path(pyflink.__file__).parent / "lib"
LONGEST_NAME = 256
MUTANTS = 1
_WRAPPERS = {
    "expressions.txt": ["SELECT {} FROM t"],
    "types.txt": ["CREATE TABLE t (c {})", "SELECT CAST(c AS {}) FROM t"],
}
_WORD = re.compile(r"\w+|'(?:[^']|'')*'|`[^`]*`|\S")


class Judge:
    """Flink's parser, as its planner sets it up."""

    def __init__(self, folder: str) -> None:
        loader = next(LIBRARIES.glob("flink-table-planner-loader-*.jar"))
        with zipfile.ZipFile(loader) as archive:
            planner = archive.extract("flink-table-planner.jar", folder)
        jars = [planner, *(str(jar) for jar in LIBRARIES.glob("*.jar") if jar != loader)]
        bridge = next((Path(py4j.__file__).parent.parent.parent.parent.parent / "share" / "py4j").glob("py4j*.jar"))
        port = launch_gateway(jarpath=str(bridge), classpath=":".join(jars), die_on_exit=True)
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        self._jvm = self._gateway.jvm
        self._parser = self._jvm.org.apache.flink.table.planner.parse.CalciteParser(self._config())
        self._commands = self._jvm.org.apache.flink.table.planner.parse.ExtendedParser.INSTANCE

    def _config(self) -> Any:
        conformance = self._jvm.org.apache.flink.sql.parser.validate.FlinkSqlConformance.DEFAULT
        config = self._jvm.org.apache.calcite.sql.parser.SqlParser.config()
        implementation = self._jvm.org.apache.flink.sql.parser.impl.FlinkSqlParserImpl.FACTORY
        lexical = self._jvm.org.apache.calcite.config.Lex.JAVA
        config = config.withParserFactory(implementation).withConformance(conformance).withLex(lexical)
        return config.withIdentifierMaxLength(LONGEST_NAME)

    def verdict(self, text: str) -> dict[str, Any]:
        """Whether Flink takes a text, and what it makes of it."""
        try:
            if self._commands.parse(text.strip()).isPresent():
                return {"sql": text, "accepted": True}
            nodes = self._parser.parseSqlList(text)
        except Py4JJavaError as error:
            return {"sql": text, "accepted": False, "error": _first_line(error)}
        try:
            return {"sql": text, "accepted": True, "as": [nodes.get(at).toString() for at in range(nodes.size())]}
        except Py4JJavaError:  # it reads some that it cannot write: TRIM(), for one
            return {"sql": text, "accepted": True}

    def close(self) -> None:
        """End the Java process."""
        self._gateway.shutdown()


def _first_line(error: Py4JJavaError) -> str:
    message = error.java_exception.getMessage() or error.java_exception.getClass().getName()
    return str(message).splitlines()[0][:160]


def statements() -> list[str]:
    """The statements of all files, and wrong ones that are made of them."""
    found: dict[str, None] = {}
    for path in sorted(FOLDER.iterdir()):
        text = path.read_text(encoding="utf-8").rstrip("\n")
        parts = text.split("\n;;\n") if path.suffix == ".sql" else text.split("\n")
        for part in parts:
            for wrapped in _WRAPPERS.get(path.name, ["{}"]):
                found.setdefault(wrapped.replace("{}", part))
    random = Random(7)
    for text in list(found):
        for _ in range(MUTANTS):
            found.setdefault(_mutant(text, list(found), random))
    return [text for text in found if text]


def _mutant(text: str, others: list[str], random: Random) -> str:
    """A statement in which a word is left out, doubled, moved, or replaced by a word of another statement."""
    words = _WORD.findall(text)
    at = random.randrange(len(words))
    other = random.choice(_WORD.findall(random.choice(others)))
    change = random.choice(["drop", "double", "replace", "insert", "swap", "cut"])
    if change == "drop":
        del words[at]
    elif change == "double":
        words.insert(at, words[at])
    elif change == "replace":
        words[at] = other
    elif change == "insert":
        words.insert(at, other)
    elif change == "cut":
        words = words[: at + 1]
    elif at:
        words[at - 1], words[at] = words[at], words[at - 1]
    return " ".join(words)


def main() -> None:
    """Ask about every statement and write the answers."""
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(folder)
        try:
            rows = [judge.verdict(text) for text in statements()]
        finally:
            judge.close()
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    PLACE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(f"{sum(row['accepted'] for row in rows)} of {len(rows)} statements are accepted")


if __name__ == "__main__":
    main()
