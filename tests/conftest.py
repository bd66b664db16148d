"""What all rooms of the test suite share: the Spark session, the rules of tests/unit, hypothesis profiles."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from firesteel.common.options import EXCHANGE
from firesteel.execution.spark.session import settings_for
from firesteel.plan import unexecuted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["tests.feature_report"]

ROOT = Path(__file__).resolve().parent.parent
UNIT = ROOT / "tests" / "unit"

# The suite gives the same verdict on every run; HYPOTHESIS_PROFILE=explore looks for new counterexamples.
_slow_is_fine = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "steady",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    suppress_health_check=_slow_is_fine,
)
settings.register_profile("explore", deadline=None, max_examples=1000, suppress_health_check=_slow_is_fine)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

SPARK_CONF = {
    **settings_for("local[2]"),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="session", autouse=True)
def _exchange() -> None:
    """FIRESTEEL_TEST_EXCHANGE=direct runs every test with direct exchange that does not choose one itself."""
    chosen = os.environ.get("FIRESTEEL_TEST_EXCHANGE")
    if chosen is not None:
        object.__setattr__(EXCHANGE, "default", chosen)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session with two cores, started by the first test that asks for it."""
    from pyspark.sql import SparkSession

    # Workers have to run this very Python, and find the test modules whose functions they are sent.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    builder = SparkSession.builder.master("local[2]").appName("firesteel-tests")
    for key, value in SPARK_CONF.items():
        builder = builder.config(key, value)
    session = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse"))).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def pytest_configure() -> None:
    # Jobs leave a handler alone that is there. Their own raises SystemExit, which pytest and hypothesis take for the
    # failure of one test, and go on.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end_the_run)


def _end_the_run(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt("the tests were told to end by SIGTERM")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # The room that downloads and starts servers is entered only by name: `make test-services`.
    if collection_path == ROOT / "tests" / "services":
        return not any("services" in argument for argument in config.args)
    return None


def pytest_sessionfinish() -> None:
    # Many tests build programs without running them; their users would be told so at the end of the process.
    unexecuted.forget_all()


def _in_unit_room(item: pytest.Item) -> bool:
    return item.path.is_relative_to(UNIT)


def pytest_runtest_setup(item: pytest.Item) -> None:
    # Session fixtures are made before any function fixture could object, hence a hook.
    if _in_unit_room(item) and "spark" in getattr(item, "fixturenames", ()):
        pytest.fail("tests/unit runs without Spark: move this test to tests/spark", pytrace=False)
    shuffle = item.get_closest_marker("shuffle")
    if shuffle is not None and os.environ.get("FIRESTEEL_TEST_EXCHANGE") == "direct":
        pytest.skip(*shuffle.args)


@pytest.fixture(autouse=True)
def _unit_room_rules(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tests/unit, sleeping and starting Spark raise."""
    if not _in_unit_room(request.node):
        return

    others, sleep = set(threading.enumerate()) - {threading.current_thread()}, time.sleep

    def refuse_sleep(seconds: float) -> None:
        if threading.current_thread() not in others:  # Spark of an earlier room has threads that sleep
            raise AssertionError("tests/unit does not sleep: pass the time in as an argument")
        sleep(seconds)

    def refuse_spark(*_: object, **__: object) -> NoReturn:
        raise AssertionError("tests/unit runs without Spark: use the harness or move the test to tests/spark")

    monkeypatch.setattr(time, "sleep", refuse_sleep)
    if importlib.util.find_spec("pyspark") is None:
        return
    monkeypatch.setattr("pyspark.SparkContext.__init__", refuse_spark)
    monkeypatch.setattr("pyspark.SparkContext.getOrCreate", refuse_spark)
    monkeypatch.setattr("pyspark.sql.session.SparkSession.Builder.getOrCreate", refuse_spark)


@pytest.fixture(autouse=True, scope="session")
def _machines_check_themselves() -> Iterator[None]:
    """The machines of all jobs in the tests look after every event whether their rules hold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("firesteel.execution.control.machine.VALIDATE", True)
        yield


@pytest.fixture
def keep_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a job that finishes leave its checkpoints behind, for tests that look into them."""
    from firesteel.state.store import CheckpointStore

    monkeypatch.setattr(CheckpointStore, "delete_everything", lambda self: None)
