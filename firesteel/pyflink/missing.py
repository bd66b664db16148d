"""What to say about names of PyFlink that Firesteel does not have."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Iterable, Iterator

__all__ = ["missing_module", "missing_name"]

_THROUGH_SPARK = (
    "until then Spark reads and writes it: env.from_dataframe(spark.readStream.format({format!r})...) and "
    "stream.to_dataframe()"
)
_INSIDE = "it is a part of PyFlink's own workings, which programs do not need here"

_MODULE_REASONS = {
    "pyflink.table": (
        "Firesteel has no Table API yet. For SQL use Spark's: stream.to_dataframe() gives a DataFrame, "
        "env.from_dataframe(...) comes back"
    ),
    "pyflink.datastream.connectors.kafka": "a connector for Kafka is to come; " + _THROUGH_SPARK.format(format="kafka"),
    "pyflink.datastream.connectors.dynamic_kafka": "there is no Kafka across clusters that change while a job runs",
    "pyflink.datastream.connectors.jdbc": "a connector for JDBC is to come; " + _THROUGH_SPARK.format(format="jdbc"),
    "pyflink.datastream.connectors.file_system": (
        "connectors for files are to come; env.read_text_file(...) reads text, and Spark reads and writes the rest: "
        "env.from_dataframe(...), stream.to_dataframe()"
    ),
    "pyflink.datastream.connectors": "connectors are Python classes here; those that are missing are to come",
    "pyflink.datastream.formats": "formats are to come; env.from_dataframe(...) reads everything that Spark reads",
    "pyflink.datastream.utils": _INSIDE,
    "pyflink.java_gateway": "there is no JVM behind the API whose objects one could call",
    "pyflink.fn_execution": _INSIDE,
    "pyflink.gen_protos": _INSIDE,
    "pyflink.proto": _INSIDE,
    "pyflink.serializers": _INSIDE,
    "pyflink.util": _INSIDE,
    "pyflink.common.utils": _INSIDE,
    "pyflink.common.constants": _INSIDE,
    "pyflink.version": "firesteel.__version__ is the version of Firesteel",
    "pyflink.find_flink_home": "there is no Flink to be found: jobs run on Spark",
    "pyflink.pyflink_gateway_server": "there is no Flink cluster to talk to: the driver is the program itself",
    "pyflink.shell": "start Python and `import firesteel.datastream`",
    "pyflink.testing": "firesteel.testing has sources with scripted times and a harness for single operators",
    "pyflink.ml": "Flink ML is a library of its own for Flink",
}
"""Why a module is not here. Used only as long as it is not."""

_HOMES = {
    "kafka": ("FlinkKafkaConsumer", "FlinkKafkaProducer", "KafkaSource", "KafkaSink", "Semantic"),
    "jdbc": ("JdbcSink", "JdbcConnectionOptions", "JdbcExecutionOptions"),
    "file_system": ("FileSource", "FileSink", "StreamFormat", "StreamingFileSink", "RollingPolicy", "OutputFileConfig"),
}
"""Names that programs import from pyflink.datastream.connectors, by the module that defines them."""

_SEARCHED = (
    "common",
    "datastream",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream.connectors",
    "metrics",
    "table",
    "table.expressions",
    "table.udf",
)
"""Where a name may be that was looked for elsewhere."""


def missing_module(name: str) -> str:
    """The message for a module that Firesteel does not have."""
    reason = _reason(name)
    if reason is None:
        near = difflib.get_close_matches(name, [f"pyflink.{each}" for each in _modules()], n=1, cutoff=0.7)
        reason = f"the nearest is {near[0]}" if near else "docs/migration.md lists what there is"
    return f"No module named {name!r} in Firesteel: {reason}."


def missing_name(module: str, name: str) -> str:
    """The message for a name that a module of Firesteel does not have."""
    return f"cannot import name {name!r} from {module!r} in Firesteel: {_hint(module, name)}."


def _hint(module: str, name: str) -> str:
    reason = _reason(f"{module}.{name}", exact=True)
    for home, names in _HOMES.items():
        if name in names:
            reason = reason or _reason(f"pyflink.datastream.connectors.{home}")
    if reason is not None:
        return reason
    places = _places()
    if name in places:
        return f"it is in {places[name]}"
    near = difflib.get_close_matches(name, list(places), n=1, cutoff=0.6)
    if near:
        return f"the nearest is {near[0]} in {places[near[0]]}"
    return "docs/migration.md lists what there is"


def _reason(name: str, exact: bool = False) -> str | None:
    """Why a module is not here, or the package that it would be in."""
    while name not in _MODULE_REASONS and not exact and "." in name:
        name = name.rpartition(".")[0]
    return _MODULE_REASONS.get(name)


def _modules() -> list[str]:
    """Firesteel's modules that have a name in PyFlink, without ``firesteel.``; none is imported for this."""
    found: list[str] = []
    for package in ("common", "datastream", "metrics", "table"):
        spec = importlib.util.find_spec(f"firesteel.{package}")
        if spec is not None:
            found += [package, *_below(package, spec.submodule_search_locations or [])]
    return found


def _below(package: str, folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        for entry in pkgutil.iter_modules([folder]):
            yield f"{package}.{entry.name}"
            if entry.ispkg:
                yield from _below(f"{package}.{entry.name}", [os.path.join(folder, entry.name)])


def _places() -> dict[str, str]:
    """Every public name that programs import, with the module of PyFlink's naming that has it."""
    places: dict[str, str] = {}
    known = set(_modules())
    for place in _SEARCHED:
        if place not in known:
            continue
        try:
            module = importlib.import_module(f"firesteel.{place}")
        except ImportError:
            continue  # it needs a library that is not installed: then it is no help either
        for name in getattr(module, "__all__", ()):
            places.setdefault(name, f"pyflink.{place}")
    return places
