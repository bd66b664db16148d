"""Which module may import which, and what the pure layers keep out of: rules over the source text.

Imports inside functions and under ``TYPE_CHECKING`` count like any other; only names passed to
``importlib`` as strings do not (that is how the layers above are reached on purpose).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "firesteel"
ROOT = Path(__file__).resolve().parent.parent.parent / PACKAGE

# From the top down. Packages on one line are neighbours: they may import each other, in one direction.
LAYERS: list[set[str]] = [
    {"__main__"},
    {"cli", "rest", "dashboard"},
    {"execution", "testing", "state_processor", "reporters", "events"},
    {"datastream", "dataset", "gelly", "ml", "table", "cep", "pyflink", "operators"},
    {"connectors"},
    {"plan"},
    {"runtime"},
    {"state"},
    {"model"},
    {"common", "metrics"},
    {"errors"},
]
LEVEL = {name: depth for depth, names in enumerate(LAYERS) for name in names}

MAY_USE_SPARK = {"execution", "connectors", "ml"}
PURE = {"runtime", "state", "plan", "model", "common"}
NOT_IN_PURE = {"time", "socket", "threading", "asyncio"}
# The one operator whose purpose is to wait for the world outside: it owns an event loop, and has waited for everything
# when it returns, so that those around it notice nothing of it.
MAY_WAIT = {"firesteel.runtime.async_wait"}
NOT_IN_RUNTIME = {"pathlib", "shutil", "tempfile", "subprocess", "multiprocessing", "http", "urllib"}
PATH_NAMES = {"path", "sep"}  # the parts of os that only handle text
CLOCK_CALLS = {"now", "utcnow", "today"}


@dataclass(frozen=True)
class Source:
    """One module of the package: its dotted name, whether it is a package, and its text."""

    name: str
    text: str
    is_package: bool = False

    @property
    def layer(self) -> str:
        """The part of the package it belongs to; empty for the package's own __init__."""
        return [*self.name.split("."), ""][1]


def sources(root: Path = ROOT) -> list[Source]:
    """All modules of the package, read but not imported."""
    result = []
    for path in sorted(root.rglob("*.py")):
        parts = list(path.relative_to(root.parent).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        result.append(Source(name, path.read_text(encoding="utf-8"), is_package))
    return result


def imports(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module imports, relative imports resolved."""
    package = source.name.split(".") if source.is_package else source.name.split(".")[:-1]
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            # `from firesteel import plan` names a layer by its alias, hence the alias belongs to the name.
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def _layer_of(imported: str) -> str | None:
    parts = imported.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 and not parts[1].startswith("__") else None


def unknown_layers(modules: list[Source]) -> list[str]:
    """Parts of the package that have no place in LAYERS."""
    return sorted({m.layer for m in modules if m.layer and m.layer not in LEVEL})


def upward_imports(modules: list[Source]) -> list[str]:
    """Imports from a layer above; the package's own __init__ imports no layer at all."""
    found = []
    for module in modules:
        level = LEVEL.get(module.layer, len(LAYERS))
        for line, imported in imports(module):
            target = _layer_of(imported)
            if target in LEVEL and LEVEL[target] < level:
                found.append(f"{module.name}:{line} imports {imported}")
    return found


def mutual_imports(modules: list[Source]) -> list[str]:
    """Neighbours on one level that import each other."""
    edges = {(module.layer, _layer_of(imported)) for module in modules for _, imported in imports(module)}
    return sorted(f"{a} <-> {b}" for a, b in edges if b is not None and a < b and (b, a) in edges)


def foreign_internals(modules: list[Source]) -> list[str]:
    """Imports of what another package keeps in its ``_internal``."""
    found = []
    for module in modules:
        for line, imported in imports(module):
            owner, inside, _ = imported.partition("._internal")
            if inside and not f"{module.name}.".startswith(f"{owner}."):
                found.append(f"{module.name}:{line} imports {imported}")
    return found


def import_circles(modules: list[Source], within: str) -> list[list[str]]:
    """Groups of modules of a package that import each other, directly or through others.

    Imports inside functions, and those that only type checkers see, count like any other.
    """
    names = {module.name for module in modules}
    graph = {
        module.name: {target for _, imported in imports(module) if (target := _module_of(imported, names))}
        for module in modules
        if f"{module.name}.".startswith(f"{within}.")
    }
    reachable = {name: _reachable(graph, name) for name in graph}
    circles = {
        tuple(sorted(other for other in reachable[name] if name in reachable[other]))
        for name in graph
        if name in reachable[name]
    }
    return [list(circle) for circle in sorted(circles)]


def _module_of(imported: str, names: set[str]) -> str | None:
    """The module that an imported name belongs to: itself, or what it is imported from."""
    return next((name for name in (imported, imported.rpartition(".")[0]) if name in names), None)


def _reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph.get(waiting.pop(), set()) & graph.keys():
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def spark_imports(modules: list[Source]) -> list[str]:
    """Imports of Spark outside the layers that carry jobs to it."""
    return [
        f"{module.name}:{line} imports {imported}"
        for module in modules
        if module.layer not in MAY_USE_SPARK
        for line, imported in imports(module)
        if imported.split(".")[0] in {"pyspark", "py4j"}
    ]


def impurities(modules: list[Source]) -> list[str]:
    """Clocks, sockets and threads in the pure layers, and I/O of any kind in the runtime."""
    found = []
    for module in modules:
        if module.layer not in PURE:
            continue
        in_runtime = module.layer == "runtime"
        forbidden = NOT_IN_PURE | (NOT_IN_RUNTIME if in_runtime else set())
        for line, imported in imports(module):
            parts = imported.split(".")
            io_of_os = in_runtime and parts[0] == "os" and not PATH_NAMES.issuperset(parts[1:2])
            waits = parts[0] == "asyncio" and module.name in MAY_WAIT
            if (parts[0] in forbidden and not waits) or io_of_os:
                found.append(f"{module.name}:{line} imports {imported}")
        found += [f"{module.name}:{line} uses {what}" for line, what in _impure_uses(module, in_runtime)]
    return found


def _impure_uses(module: Source, in_runtime: bool) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(module.text)):
        if in_runtime and isinstance(node, ast.Attribute) and ast.unparse(node.value) == "os":
            yield from [] if node.attr in PATH_NAMES else [(node.lineno, f"os.{node.attr}")]
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        owner, _, name = called.rpartition(".")
        is_clock = name in CLOCK_CALLS and owner.split(".")[-1] in {"datetime", "date"}
        if is_clock or (in_runtime and called in {"open", "input", "print"}):
            yield node.lineno, called
