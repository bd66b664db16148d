"""A cluster for the tests that want one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import StandaloneCluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """A cluster for all tests of the room. One of them kills a host for good: the others must do with one."""
    running = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    yield running
    running.stop()
