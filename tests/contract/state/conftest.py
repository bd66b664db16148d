"""Every test of the contract runs once per backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from firesteel.state.backend import KeyedStateBackend
from tests.contract.state.backends import KINDS, Kind, ManualClock


@pytest.fixture(scope="session", params=KINDS, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> Kind:
    """One of the backends."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def new_backend(kind: Kind) -> Iterator[Callable[[], KeyedStateBackend]]:
    """Makes backends, and closes them after the test."""
    made: list[KeyedStateBackend] = []

    def make() -> KeyedStateBackend:
        backend = kind.new()
        backend.clock = ManualClock()
        made.append(backend)
        return backend

    yield make
    for backend in made:
        backend.close()
