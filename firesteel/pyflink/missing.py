"""What to say about names that Firesteel does not have: under its own name, and under PyFlink's."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
import re
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder

import firesteel

__all__ = ["import_hint", "is_package", "missing_module", "missing_name"]

_INSIDE = "it is a part of PyFlink's own workings, which programs do not need here"

_MODULE_REASONS = {
    "datastream.connectors": "connectors are Python classes here; those that are missing are to come",
    "datastream.utils": _INSIDE,
    "java_gateway": "there is no JVM behind the API whose objects one could call",
    "fn_execution": _INSIDE,
    "gen_protos": _INSIDE,
    "proto": _INSIDE,
    "serializers": _INSIDE,
    "util": _INSIDE,
    "common.utils": _INSIDE,
    "common.constants": _INSIDE,
    "version": "firesteel.__version__ is the version of Firesteel",
    "find_flink_home": "there is no Flink to be found: jobs run on Spark",
    "pyflink_gateway_server": "there is no Flink cluster to talk to: the driver is the program itself",
    "shell": "start Python and `import firesteel.datastream`",
    "testing": "firesteel.testing has sources with scripted times and a harness for single operators",
}
"""Why a module is not here. Used only as long as it is not."""

_SEARCHED = (
    "common",
    "datastream",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream.connectors",
    "datastream.connectors.file_system",
    "datastream.connectors.kafka",
    "datastream.connectors.dynamic_kafka",
    "datastream.connectors.jdbc",
    "datastream.connectors.elasticsearch",
    "datastream.connectors.base",
    "datastream.formats.csv",
    "datastream.formats.json",
    "common.serialization",
    "metrics",
    "cep",
    "table",
    "table.expressions",
    "table.udf",
)
"""Where a name may be that was looked for elsewhere."""

_WANTED = re.compile(r"cannot import name '(\w+)'")


def missing_module(name: str) -> str:
    """The message for a module that Firesteel does not have, under its name there or in PyFlink."""
    root, _, below = name.partition(".")
    reason = _reason(below)
    if reason is None:
        near = difflib.get_close_matches(below, _modules(), n=1, cutoff=0.7)
        reason = f"the nearest is {root}.{near[0]}" if near else "docs/migration.md lists what there is"
    return f"No module named {name!r} in Firesteel: {reason}."


def missing_name(module: str, name: str) -> str:
    """The message for a name that a module of Firesteel does not have."""
    return f"cannot import name {name!r} from {module!r} in Firesteel: {_hint(module, name)}."


def import_hint(error: ImportError) -> str | None:
    """What to add to an error of Python's about an import from Firesteel, or from a PyFlink that is not there."""
    root = (error.name or "").partition(".")[0]
    if root == "pyflink" and isinstance(error, ModuleNotFoundError):
        return "Programs written for PyFlink run with `firesteel run --pyflink job.py`, without PyFlink."
    wanted = _WANTED.match(str(error))
    if root != "firesteel" or wanted is None or error.name is None:
        return None
    return f"{_hint(error.name, wanted.group(1))}."


def is_package(name: str) -> bool:
    """Whether Firesteel has a package or module of that name, right below itself. Nothing is imported."""
    return PathFinder.find_spec(f"firesteel.{name}", firesteel.__path__) is not None


def _hint(module: str, name: str) -> str:
    root, _, below = module.partition(".")
    reason = _reason(f"{below}.{name}".strip("."), exact=True)
    if reason is not None:
        return reason
    places = _places()
    if name in places:
        return f"it is in {root}.{places[name]}"
    near = difflib.get_close_matches(name, list(places), n=1, cutoff=0.6)
    if near:
        return f"the nearest is {near[0]} in {root}.{places[near[0]]}"
    return "docs/migration.md lists what there is"


def _reason(name: str, exact: bool = False) -> str | None:
    """Why a module is not here, or the package that it would be in."""
    while name not in _MODULE_REASONS and not exact and "." in name:
        name = name.rpartition(".")[0]
    return _MODULE_REASONS.get(name)


def _modules() -> list[str]:
    """Firesteel's modules that have a name in PyFlink, without ``firesteel.``; none is imported for this."""
    found: list[str] = []
    for package in ("common", "datastream", "metrics", "table", "cep"):
        spec = PathFinder.find_spec(f"firesteel.{package}", firesteel.__path__)
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
    """Every public name that programs import, with the module that has it, without ``firesteel.``."""
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
            places.setdefault(name, place)
    return places
