"""Every test here starts and ends without the shim."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import firesteel.pyflink


@pytest.fixture(autouse=True)
def _without_shim(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    firesteel.pyflink.uninstall()
    yield
    firesteel.pyflink.uninstall()


@pytest.fixture
def installed() -> None:
    """With the shim."""
    firesteel.pyflink.install()
