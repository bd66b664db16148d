"""Public packages show what they mean to show, and every public name is documented."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.architecture import import_rules

# What users do not import from: the engine below the API. Every other package is public.
INTERNAL = {"plan", "runtime", "state", "execution", "model"}

PUBLIC_PACKAGES = [
    module.name
    for module in import_rules.sources()
    if module.is_package
    and module.layer
    and module.layer not in INTERNAL
    and not any(part.startswith("_") for part in module.name.split("."))
]
PUBLIC_MODULES = [
    module.name
    for module in import_rules.sources()
    if module.layer not in INTERNAL and not any(part.startswith("_") for part in module.name.split("."))
]


def _visible(module: ModuleType) -> set[str]:
    """Public names of a module, without submodules and what it took from typing or __future__."""
    from_python = {id(value) for value in vars(typing).values() if not isinstance(value, (bool, int, str))}
    names = set()
    for name in dir(module):
        value = getattr(module, name)
        if name.startswith("_") or isinstance(value, ModuleType) or id(value) in from_python:
            continue
        if name in {"annotations", "TYPE_CHECKING"}:
            continue
        names.add(name)
    return names


def _described(owner: str, value: object) -> Iterator[str]:
    """Dotted names below a class or function that lack a description of their own."""
    if inspect.isfunction(value) and not inspect.getdoc(value):
        yield owner
    if not inspect.isclass(value):
        return
    doc = vars(value).get("__doc__")
    # A dataclass without a docstring gets its signature as one.
    if not doc or doc.startswith(f"{value.__name__}("):
        yield owner
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        # getdoc would look into the base classes for a method, which is right: an override means the same.
        if inspect.isfunction(function) and not inspect.getdoc(getattr(value, name)):
            yield f"{owner}.{name}"


@pytest.mark.parametrize("name", PUBLIC_PACKAGES)
def test_all_lists_exactly_the_visible_names(name: str) -> None:
    module = importlib.import_module(name)
    assert len(module.__all__) == len(set(module.__all__))
    assert set(module.__all__) == _visible(module)


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_name_has_a_docstring(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    names = getattr(module, "__all__", None) or [
        key for key in _visible(module) if getattr(getattr(module, key), "__module__", None) == name
    ]
    assert [gap for key in names for gap in _described(f"{name}.{key}", getattr(module, key))] == []


# The checks themselves, on a small module.


class _Documented:
    """Has one."""

    def good(self) -> None:
        """Also here."""

    def bad(self) -> None: ...


class _Child(_Documented):
    """Has one too."""

    def good(self) -> None: ...


def test_a_missing_docstring_is_found_and_an_inherited_one_counts() -> None:
    assert list(_described("C", _Documented)) == ["C.bad"]
    assert list(_described("D", _Child)) == []


def test_visible_names_leave_out_private_ones_modules_and_typing() -> None:
    module = ModuleType("sample")
    module.__dict__.update(shown=1, _hidden=2, typing=typing, Any=typing.Any, TYPE_CHECKING=False, annotations=3)
    assert _visible(module) == {"shown"}
