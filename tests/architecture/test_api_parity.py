"""Names of PyFlink: the list of what is missing is exact, so it can only shrink on purpose."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from tests.architecture import api_parity

HINT = "run `make api-missing` when this is intended"


def _flat(names: api_parity.Names) -> set[str]:
    return {f"{m}.{name}.{member}" for m, entries in names.items() for name in entries for member in entries[name]}


def test_the_list_of_missing_pyflink_names_is_exact() -> None:
    recorded = _flat(api_parity.load(api_parity.MISSING))
    now = _flat(api_parity.missing(api_parity.load(api_parity.NAMES)))
    assert sorted(recorded - now) == [], f"no longer missing; {HINT}"
    assert sorted(now - recorded) == [], f"went missing; {HINT}"


def test_only_names_of_pyflink_are_recorded_as_missing() -> None:
    names, recorded = api_parity.load(api_parity.NAMES), api_parity.load(api_parity.MISSING)
    for module, entries in recorded.items():
        for name, members in entries.items():
            assert set(members) <= {api_parity.WHOLE, *names[module][name]}


class _Sample:
    declared: int

    def __init__(self) -> None:
        self.assigned = 1

    def method(self) -> None: ...


@pytest.fixture
def sample_package(monkeypatch: pytest.MonkeyPatch) -> str:
    package, module = ModuleType("sample_pkg"), ModuleType("sample_pkg.api")
    package.__path__ = []
    module.Sample = _Sample  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sample_pkg", package)
    monkeypatch.setitem(sys.modules, "sample_pkg.api", module)
    return "sample_pkg"


def test_missing_names_members_and_modules_are_found(sample_package: str) -> None:
    names = {
        "api": {"Sample": ["assigned", "declared", "gone", "method"], "Other": ["a"], "Sample.Inner": []},
        "nowhere": {"Thing": ["b"]},
    }
    assert api_parity.missing(names, sample_package) == {
        "api": {"Sample": ["gone"], "Other": ["*"], "Sample.Inner": ["*"]},
        "nowhere": {"Thing": ["*"]},
    }


def test_a_list_is_written_sorted_and_reads_back() -> None:
    names = {"b": {"Y": ["two", "one"], "X": []}, "a": {"Z": ["*"]}}
    assert json.loads(api_parity.dump(names)) == {
        "a": {"Z": ["*"]},
        "b": {"X": [], "Y": ["one", "two"]},
    }
    assert api_parity.dump({}) == "{}\n"
