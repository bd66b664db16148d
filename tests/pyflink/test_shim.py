"""``import pyflink`` gives Firesteel, and says what it does not have."""

from __future__ import annotations

import builtins
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import cloudpickle
import pytest

import firesteel.common
import firesteel.datastream
import firesteel.datastream.functions
import firesteel.pyflink
from firesteel.common.warnings import FiresteelWarning
from firesteel.errors import ProgramError
from tests.architecture import api_parity

ROOT = Path(__file__).resolve().parents[2]


def run_code(code: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(code, names)
    return names


@pytest.mark.usefixtures("installed")
def test_modules_are_the_same_objects_under_both_names() -> None:
    names = run_code(
        "import pyflink.common, pyflink.datastream.functions as functions\nfrom pyflink import datastream\n"
        "from pyflink.datastream import MapFunction\nfrom pyflink.common import *\n"
    )
    assert names["pyflink"] is firesteel.pyflink
    assert names["pyflink"].common is firesteel.common  # type: ignore[attr-defined]
    assert names["functions"] is firesteel.datastream.functions
    assert names["datastream"] is firesteel.datastream
    assert names["MapFunction"] is firesteel.datastream.MapFunction
    assert names["Row"] is firesteel.common.Row


@pytest.mark.usefixtures("installed")
def test_modules_keep_their_own_names_and_specs() -> None:
    importlib.import_module("pyflink.datastream.window")
    module = sys.modules["pyflink.datastream.window"]
    assert module.__name__ == "firesteel.datastream.window"
    assert module.__spec__ is not None
    assert module.__spec__.name == "firesteel.datastream.window"
    assert module.__package__ == "firesteel.datastream"


@pytest.mark.usefixtures("installed")
def test_every_module_of_pyflink_that_firesteel_has_is_found() -> None:
    found = 0
    for module in api_parity.load(api_parity.NAMES):
        try:
            real = importlib.import_module(f"firesteel.{module}")
        except ModuleNotFoundError:
            with pytest.raises(ModuleNotFoundError, match=f"pyflink.{module}"):
                importlib.import_module(f"pyflink.{module}")
        else:
            assert importlib.import_module(f"pyflink.{module}") is real
            found += 1
    assert found > 30


def test_an_installed_pyflink_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("raise AssertionError('the real one')")
    monkeypatch.syspath_prepend(str(tmp_path))
    firesteel.pyflink.install()
    assert run_code("import pyflink.common")["pyflink"] is firesteel.pyflink


def test_after_pyflink_has_been_imported_it_is_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyflink", ModuleType("pyflink"))
    with pytest.raises(ProgramError, match="before the first import of pyflink"):
        firesteel.pyflink.install()
    assert not firesteel.pyflink.is_installed()


def test_installing_twice_is_installing_once_and_can_be_taken_back() -> None:
    before = builtins.__import__
    firesteel.pyflink.install()
    firesteel.pyflink.install()
    assert firesteel.pyflink.is_installed()
    assert run_code("import pyflink.common")
    firesteel.pyflink.uninstall()
    firesteel.pyflink.uninstall()
    assert not firesteel.pyflink.is_installed()
    assert builtins.__import__ is before
    assert not [name for name in sys.modules if name.partition(".")[0] == "pyflink"]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("from pyflink.datastream import Types", "'Types' from 'pyflink.datastream' .* it is in pyflink.common"),
        ("from pyflink.datastream.functions import MapFuncton", "the nearest is MapFunction in pyflink.datastream"),
        ("from pyflink.datastream.functions import Zzzqqq", "docs/migration.md"),
        ("import pyflink.datastream.function", "the nearest is pyflink.datastream.functions"),
        ("import pyflink.java_gateway", "No module named 'pyflink.java_gateway' .* no JVM behind the API"),
        ("from pyflink.fn_execution.state_impl import X", "PyFlink's own workings"),
        ("from pyflink import fn_execution", "PyFlink's own workings"),
        ("from pyflink.testing import test_case_utils", "firesteel.testing"),
        ("import pyflink.plan", "No module named 'pyflink.plan'"),
    ],
)
def test_what_is_missing_says_what_comes_nearest(statement: str, message: str) -> None:
    with pytest.raises(ImportError, match=message):
        run_code(statement)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("package", ["table", "datastream.connectors.kafka"])
def test_a_package_that_is_to_come_says_so_until_it_is_there(package: str) -> None:
    try:
        importlib.import_module(f"firesteel.{package}")
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError, match="Spark"):
            importlib.import_module(f"pyflink.{package}")
    else:
        assert importlib.import_module(f"pyflink.{package}") is importlib.import_module(f"firesteel.{package}")


@pytest.mark.usefixtures("installed")
def test_other_imports_are_left_alone() -> None:
    with pytest.raises(ImportError, match="cannot import name 'nothing' from 'json'"):
        run_code("from json import nothing")
    with pytest.raises(ModuleNotFoundError, match="No module named 'pyflinkish'"):
        run_code("import pyflinkish")


@pytest.mark.usefixtures("installed")
def test_modules_of_flink_ml_are_those_of_firesteel() -> None:
    code = "from pyflink.ml.builder import Pipeline\nfrom pyflink.ml.feature.standardscaler import StandardScaler"
    names = run_code(code)
    assert names["Pipeline"] is importlib.import_module("firesteel.ml").Pipeline
    assert names["StandardScaler"]().set_with_mean(True).get_with_mean()


@pytest.mark.usefixtures("installed")
def test_jars_warn_that_they_are_not_needed() -> None:
    env = firesteel.datastream.StreamExecutionEnvironment.get_execution_environment()
    with pytest.warns(FiresteelWarning, match="no JARs to load"):
        env.add_jars("file:///a.jar")
    with pytest.warns(FiresteelWarning, match="no JARs to load"):
        env.add_classpaths("file:///a.jar")


@pytest.mark.usefixtures("installed")
def test_functions_that_use_pyflink_load_where_the_shim_is_not_installed() -> None:
    """Modules and classes are pickled under Firesteel's names."""
    code = "import pyflink.common\nfrom pyflink.common import Row\ndef f(n): return pyflink.common.Row(n) == Row(n)\n"
    pickled = cloudpickle.dumps(run_code(code)["f"])
    program = f"import pickle; print(pickle.loads({pickled!r})(1))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "True\n", done.stderr
