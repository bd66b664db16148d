"""Imports point down, Spark stays where it belongs, the pure layers stay pure."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture import import_rules as rules
from tests.architecture.import_rules import Source


def test_every_part_of_the_package_has_its_layer() -> None:
    assert rules.unknown_layers(rules.sources()) == []


def test_imports_point_downward_only() -> None:
    assert rules.upward_imports(rules.sources()) == []


def test_neighbours_do_not_import_each_other_both_ways() -> None:
    assert rules.mutual_imports(rules.sources()) == []


def test_what_a_package_keeps_inside_is_imported_by_itself_only() -> None:
    assert rules.foreign_internals(rules.sources()) == []


@pytest.mark.parametrize("package", ["datastream", "plan", "runtime"])
def test_modules_do_not_import_each_other_in_a_circle(package: str) -> None:
    assert rules.import_circles(rules.sources(), f"firesteel.{package}") == []


def test_only_execution_and_connectors_import_spark() -> None:
    assert rules.spark_imports(rules.sources()) == []


def test_the_pure_layers_have_no_clock_socket_thread_or_runtime_io() -> None:
    assert rules.impurities(rules.sources()) == []


def test_importing_the_package_does_not_import_spark() -> None:
    """Every layer imports without Spark; execution and connectors load it when they use it."""
    names = sorted(module.name for module in rules.sources() if "__main__" not in module.name)
    program = (
        "import importlib, sys\n"
        "sys.modules.update({'pyspark': None, 'py4j': None})\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=rules.ROOT.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# The rules themselves, on small sources: each one finds what it is for.


@pytest.mark.parametrize(
    ("name", "text", "is_package"),
    [
        ("firesteel.plan.graph", "from firesteel.datastream import DataStream", False),
        ("firesteel.plan.graph", "import firesteel.execution.spark", False),
        ("firesteel.plan.graph", "def f():\n    from firesteel import connectors", False),
        ("firesteel.plan", "from ..datastream import x", True),
        ("firesteel.plan.graph", "from .. import cep", False),
        ("firesteel.errors", "from firesteel.common.time import Duration", False),
        ("firesteel", "from firesteel.datastream import x", True),
    ],
)
def test_an_upward_import_is_found(name: str, text: str, is_package: bool) -> None:
    assert len(rules.upward_imports([Source(name, text, is_package)])) == 1


@pytest.mark.parametrize(
    "text",
    [
        "from firesteel.runtime.operator import Operator",
        "from . import levels",
        "from .levels import level",
        "from firesteel import __version__",
        "import importlib\nimportlib.import_module('firesteel.execution')",
        "import time_machine, json",
    ],
)
def test_other_imports_are_let_through(text: str) -> None:
    module = [Source("firesteel.plan.graph", text)]
    assert rules.upward_imports(module) + rules.spark_imports(module) + rules.impurities(module) == []


def test_neighbours_that_import_each_other_are_found() -> None:
    there = Source("firesteel.table.a", "import firesteel.datastream.b")
    back = Source("firesteel.datastream.b", "from firesteel import table")
    assert rules.mutual_imports([there]) == []
    assert rules.mutual_imports([there, back]) == ["datastream <-> table"]


def test_what_another_package_keeps_inside_is_found() -> None:
    text = "from firesteel.datastream._internal.fields import RollingField"
    assert len(rules.foreign_internals([Source("firesteel.cep.pattern", text)])) == 1
    assert len(rules.foreign_internals([Source("firesteel.datastreams", text)])) == 1
    assert rules.foreign_internals([Source("firesteel.datastream.window", text)]) == []


@pytest.mark.parametrize(
    "back", ["from firesteel.plan.a import A", "def f():\n    from firesteel.plan import a", "import firesteel.plan.a"]
)
def test_a_circle_of_imports_is_found_wherever_its_imports_are(back: str) -> None:
    first = Source("firesteel.plan.a", "if TYPE_CHECKING:\n    from firesteel.plan.b import B")
    between = Source("firesteel.plan.b", "from firesteel.plan.c import C")
    last, package = Source("firesteel.plan.c", back), Source("firesteel.plan", "", is_package=True)
    assert rules.import_circles([package, first, between], "firesteel.plan") == []
    names = ["firesteel.plan.a", "firesteel.plan.b", "firesteel.plan.c"]
    assert rules.import_circles([package, first, between, last], "firesteel.plan") == [names]


def test_a_package_without_a_layer_is_found() -> None:
    assert rules.unknown_layers([Source("firesteel.helpers.misc", ""), Source("firesteel", "")]) == ["helpers"]


@pytest.mark.parametrize("text", ["import pyspark", "from pyspark.sql import Row", "def f():\n    import py4j"])
def test_spark_outside_its_layers_is_found(text: str) -> None:
    assert len(rules.spark_imports([Source("firesteel.datastream.x", text)])) == 1
    assert rules.spark_imports([Source("firesteel.connectors.x", text)]) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time",
        "from time import monotonic",
        "import threading",
        "from datetime import datetime\ndatetime.now()",
    ],
)
def test_a_clock_or_thread_in_a_pure_layer_is_found(text: str) -> None:
    assert len(rules.impurities([Source("firesteel.state.x", text)])) == 1
    assert rules.impurities([Source("firesteel.execution.x", text)]) == []


@pytest.mark.parametrize(
    "text",
    ["import os\nos.stat('x')", "from os import stat", "from pathlib import Path", "open('x')", "print(1)"],
)
def test_io_is_found_in_the_runtime_and_allowed_in_state(text: str) -> None:
    assert len(rules.impurities([Source("firesteel.runtime.x", text)])) == 1
    assert rules.impurities([Source("firesteel.state.x", text)]) == []


def test_only_the_operator_for_asynchronous_calls_has_an_event_loop() -> None:
    assert rules.impurities([Source("firesteel.runtime.async_wait", "import asyncio")]) == []
    assert len(rules.impurities([Source("firesteel.runtime.async_wait", "import asyncio, threading")])) == 1
    assert len(rules.impurities([Source("firesteel.runtime.process", "import asyncio")])) == 1


def test_handling_paths_as_text_is_not_io() -> None:
    text = "import os\nfrom os.path import join\nos.path.join('a', os.sep)"
    assert rules.impurities([Source("firesteel.runtime.x", text)]) == []
