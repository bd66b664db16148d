"""The servers, each started by the first test that asks for it, and a place on each for a test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.services.kafka import Topics, kafka_broker
from tests.services.places import Place
from tests.services.postgres import Postgres, postgres_server
from tests.services.servers import hdfs_servers, s3_server
from tests.services.yarn import Yarn, yarn_servers


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with s3_server(tmp_path_factory.mktemp("s3")) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        yield environment


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with hdfs_servers(tmp_path_factory.mktemp("hdfs")) as address:
        yield address


@pytest.fixture(scope="session")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    with yarn_servers(tmp_path_factory.mktemp("yarn")) as servers:
        yield servers


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Topics]:
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as (servers, guarded):
        yield Topics(servers, guarded)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def s3_place(s3: dict[str, str]) -> Place:
    return Place(f"s3://firesteel/{uuid.uuid4().hex}", s3)


@pytest.fixture
def hdfs_place(hdfs: str) -> Place:
    return Place(f"webhdfs://{hdfs}/{uuid.uuid4().hex}")


@pytest.fixture(params=["s3", "webhdfs"])
def place(request: pytest.FixtureRequest) -> Place:
    """A place on each server."""
    found: Place = request.getfixturevalue("s3_place" if request.param == "s3" else "hdfs_place")
    return found
