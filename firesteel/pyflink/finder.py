"""Finding Firesteel's modules under PyFlink's names."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from firesteel.errors import ProgramError
from firesteel.pyflink.missing import missing_module, missing_name

__all__ = ["PACKAGES", "install", "is_installed", "uninstall"]

PACKAGES = ("common", "datastream", "metrics", "ml", "table")
"""The packages of PyFlink that programs import, as far as Firesteel has them."""

_ROOT = "pyflink"


def install() -> None:
    """Let ``import pyflink`` and everything below it give Firesteel's modules. Calling it again changes nothing.

    :raises ProgramError: If the real PyFlink has been imported already: its classes would mix with Firesteel's.
    """
    if is_installed():
        return
    if _ROOT in sys.modules:
        raise ProgramError(
            "pyflink has been imported already, so that its classes would mix with those of Firesteel. "
            "Call firesteel.pyflink.install() before the first import of pyflink."
        )
    sys.meta_path.insert(0, _FINDER)
    builtins.__import__ = _CHECKED_IMPORT


def is_installed() -> bool:
    """Whether ``import pyflink`` gives Firesteel's modules in this process."""
    return _FINDER in sys.meta_path


def uninstall() -> None:
    """Take :func:`install` back; modules that have been imported keep working."""
    if not is_installed():
        return
    sys.meta_path.remove(_FINDER)
    if builtins.__import__ is _CHECKED_IMPORT:
        builtins.__import__ = _CHECKED_IMPORT.original
    for name in [name for name in sys.modules if _is_pyflink(name)]:
        del sys.modules[name]


def _is_pyflink(name: str) -> bool:
    return name == _ROOT or name.startswith(f"{_ROOT}.")


def _real_name(name: str) -> str | None:
    """The module that stands behind a name of PyFlink, if Firesteel has one."""
    if name == _ROOT:
        return "firesteel.pyflink"
    below = name.removeprefix(f"{_ROOT}.")
    if below.partition(".")[0] not in PACKAGES:
        return None
    real = f"firesteel.{below}"
    try:
        return real if importlib.util.find_spec(real) is not None else None
    except ModuleNotFoundError as error:
        if error.name is not None and f"{real}.".startswith(f"{error.name}."):
            return None  # a parent is missing or is no package
        raise


class _Finder(MetaPathFinder):
    """Stands before Python's own finders, so that an installed PyFlink is not found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_pyflink(fullname):
            return None
        real = _real_name(fullname)
        if real is None:
            raise ModuleNotFoundError(missing_module(fullname), name=fullname)
        return ModuleSpec(fullname, _AliasLoader(real))


class _AliasLoader(Loader):
    """Gives out a module that has another name, without touching it."""

    def __init__(self, real: str) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # Python returns what stands in sys.modules afterwards: the module itself, its __spec__ and __name__ untouched.
        sys.modules[module.__name__] = importlib.import_module(self._real)


class _CheckedImport:
    """``from pyflink.x import name``: a name that is not there gives an error that says what comes nearest.

    Python asks no finder for names inside modules, hence this stands in for the import statement itself. Imports of
    anything else pass straight through.
    """

    def __init__(self) -> None:
        self.original = builtins.__import__

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        module = self.original(name, globals, locals, fromlist or (), level)
        if fromlist and level == 0 and _is_pyflink(name):
            for wanted in fromlist:
                if wanted != "*" and not hasattr(module, wanted):
                    raise ImportError(missing_name(name, wanted), name=name)
        return module


_FINDER = _Finder()
_CHECKED_IMPORT = _CheckedImport()
