"""Which public names of PyFlink does Firesteel not have yet?

``pyflink_names.json`` lists the names: module (without ``pyflink.``) -> name -> members. A name without
members is a function, a constant, an empty class, or a further place to import a class from.
``pyflink_missing.json`` lists, in the same shape, what is missing here; ``["*"]`` stands for a whole name.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
NAMES = HERE / "pyflink_names.json"
MISSING = HERE / "pyflink_missing.json"
WHOLE = "*"
_ABSENT = object()

Names = dict[str, dict[str, list[str]]]


def load(path: Path) -> Names:
    """Read one of the two lists."""
    names: Names = json.loads(path.read_text(encoding="utf-8"))
    return names


def dump(names: Names) -> str:
    """The JSON text of a list, one line per name, so that differences read well."""
    modules = []
    for module, entries in sorted(names.items()):
        lines = [f"    {json.dumps(name)}: {json.dumps(sorted(entries[name]))}" for name in sorted(entries)]
        modules.append(f"  {json.dumps(module)}: {{\n" + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(modules) + "\n}\n" if modules else "{}\n"


def missing(names: Names, package: str = "firesteel") -> Names:
    """The part of the list that the package lacks."""
    result: Names = {}
    for module, entries in names.items():
        here = _import(f"{package}.{module}")
        for name, members in entries.items():
            lacking = _lacking(here, name, members)
            if lacking:
                result.setdefault(module, {})[name] = lacking
    return result


def _import(name: str) -> ModuleType | None:
    """The module, or None when it does not exist; one that exists but fails to import raises."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise


def _lacking(module: ModuleType | None, dotted: str, members: list[str]) -> list[str]:
    found: Any = module
    for part in dotted.split("."):
        found = getattr(found, part, _ABSENT)
    if module is None or found is _ABSENT:
        return [WHOLE]
    return sorted(member for member in members if not _has(found, member))


def _has(owner: Any, member: str) -> bool:
    if hasattr(owner, member):
        return True
    return inspect.isclass(owner) and any(member in _fields(cls) for cls in owner.__mro__[:-1])


def _fields(cls: type) -> set[str]:
    """Names that a class declares, or sets on its instances."""
    names = set(vars(cls).get("__annotations__", ()))
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):  # built in, or made at run time
        return names
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if isinstance(node.value, ast.Name) and node.value.id == "self" else set()
    return names
