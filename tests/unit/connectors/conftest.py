"""Closes the readers and writers that a test has opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.connectors.driving import close_readers
from tests.unit.connectors.files import close_writers


@pytest.fixture(autouse=True)
def _readers_and_writers_are_closed() -> Iterator[None]:
    yield
    close_readers()
    close_writers()
