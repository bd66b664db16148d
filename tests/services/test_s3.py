"""What is special about S3: its settings, and a job on Spark."""

from __future__ import annotations

import os
import signal

import pytest

from firesteel.state.file_systems import S3Access, use_s3
from firesteel.state.filesystem import file_store
from tests.services.places import Place, finished


@pytest.mark.feature("CK-17")
def test_the_server_is_named_by_the_configuration(s3_place: Place) -> None:
    environment = s3_place.environment
    settings = {
        "s3.endpoint": environment["AWS_ENDPOINT_URL"],
        "s3.access-key": environment["AWS_ACCESS_KEY_ID"],
        "s3.secret-key": environment["AWS_SECRET_ACCESS_KEY"],
        "s3.endpoint.region": environment["AWS_DEFAULT_REGION"],
    }
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    finished(s3_place.run(*options, **dict.fromkeys(environment, "")))
    s3_place.must_have_all(700)


def test_an_endpoint_without_a_scheme_is_reached_by_tls(s3_place: Place) -> None:
    use_s3(S3Access(endpoint="minio.example:9000"))
    try:
        store = file_store(s3_place.uri)
    finally:
        use_s3(S3Access())
    assert os.environ["AWS_ENDPOINT_URL"].startswith("http://")
    settings = store._fs.__reduce__()[1][0]  # type: ignore[attr-defined]
    assert (settings["endpoint_override"], settings["scheme"]) == ("minio.example:9000", "https")


@pytest.mark.feature("CK-17", "SB-09")
def test_a_job_on_spark_with_state_in_rocksdb_is_killed_and_goes_on(s3_place: Place) -> None:
    settings = {
        "execution.target": "spark",
        "firesteel.master": "local[2]",
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.memory.fixed-per-slot": "1 kb",
    }
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    options += ["--records", "300"]
    killed = s3_place.run(*options, "--crash", "manifest:after:2")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-3000:]
    finished(s3_place.run(*options, "--parallelism", "1"))
    s3_place.must_have_all(300)
