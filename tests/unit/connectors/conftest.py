"""Closes the readers that a test has opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.connectors.driving import close_readers


@pytest.fixture(autouse=True)
def _readers_are_closed() -> Iterator[None]:
    yield
    close_readers()
