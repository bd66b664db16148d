"""The examples in the docstrings do what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import firesteel.common
from firesteel.common import options, tuples, type_extraction

MODULES = [
    module.name
    for module in pkgutil.walk_packages(firesteel.common.__path__, "firesteel.common.")
    if not module.name.endswith("__main__")
]
NAMES = {
    **{name: getattr(firesteel.common, name) for name in firesteel.common.__all__},
    "Tuple2": tuples.Tuple2,
    "extract_type": type_extraction.extract_type,
    "options": options,
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name), extraglobs=NAMES)
    assert results.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [case for name in MODULES for case in finder.find(importlib.import_module(name)) if case.examples]
    assert len(examples) >= 8
