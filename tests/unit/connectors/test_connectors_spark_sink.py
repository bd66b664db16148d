"""The sink into Spark without Spark: a batch per checkpoint, its type, what is refused, what goes to the tasks."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Configuration, Types
from firesteel.connectors import spark_sink
from firesteel.connectors.spark_sink import SparkSink
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import CommitError, ConfigurationError, JobError
from firesteel.model.sink import CommitRequest


@pytest.fixture(autouse=True)
def _lists_in_place_of_dataframes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_sink, "rows_to_dataframe", lambda rows, type_info: (type_info, rows))


def requests(*parts: tuple[int, list[Any]]) -> list[CommitRequest]:
    return [CommitRequest(rows, checkpoint_id=number) for number, rows in parts]


def test_each_checkpoint_is_one_batch_under_its_own_number() -> None:
    seen: list[Any] = []
    committer = SparkSink.for_each_batch(lambda df, number: seen.append((number, df[1]))).create_committer()
    committer.commit(requests((3, [1, 2]), (3, [3]), (4, [4])))
    assert seen == [(3, [1, 2, 3]), (4, [4])]


def test_a_function_that_fails_is_named_with_its_checkpoint() -> None:
    def refuses(df: Any, number: int) -> None:
        raise ValueError("no place left")

    committer = SparkSink.for_each_batch(refuses).create_committer()
    with pytest.raises(CommitError, match=r"2 rows of checkpoint 7 for the function refuses: ValueError: no place"):
        committer.commit(requests((7, [1, 2])))


class Frame:
    """As much of a DataFrame as the sink uses."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        if name == "write":
            return self
        return lambda *args, **options: self.told.append((name, *args, options)) or self


@pytest.mark.parametrize("options", [{"path": "out"}, lambda number: {"path": "out", "txnVersion": number}])
def test_a_format_is_told_its_options(monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    frame = Frame()
    monkeypatch.setattr(spark_sink, "rows_to_dataframe", lambda rows, type_info: frame)
    SparkSink.for_format("delta", options, "overwrite").create_committer().commit(requests((5, [1])))
    given = {"path": "out"} if isinstance(options, dict) else {"path": "out", "txnVersion": 5}
    assert frame.told == [("format", "delta", {}), ("options", given), ("mode", "overwrite", {}), ("save", {})]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SparkSink.for_each_batch("f"), "takes a function"),  # type: ignore[arg-type]
        (lambda: SparkSink.for_format(""), "name of a format"),
        (lambda: SparkSink.for_format("csv", mode="add"), "append, overwrite"),
        (lambda: SparkSink.for_format("csv", ["a"]), "dict or a function"),  # type: ignore[arg-type]
        (lambda: SparkSink.for_format("csv", type_info=int), "ROW_NAMED"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_the_tasks_get_no_function() -> None:
    lock = threading.Lock()  # cannot be pickled

    def function(df: Any, number: int) -> None:
        assert lock

    pickle.loads(pickle.dumps(SparkSink.for_each_batch(function))).create_writer()


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "in-process"})
    )
    env.set_parallelism(2)
    return env


def test_rows_have_the_type_of_the_stream_unless_another_is_given() -> None:
    seen: list[Any] = []
    sink = SparkSink.for_each_batch(lambda df, number: seen.append((df[0], sorted(df[1]))))
    given = SparkSink.for_each_batch(lambda df, number: seen.append((df[0], sorted(df[1]))), Types.STRING())
    env = environment()
    env.from_collection([1, 2, 3], Types.INT()).sink_to(sink)
    env.from_collection(["a"], Types.PICKLED_BYTE_ARRAY()).sink_to(given)
    env.from_collection([2.5], Types.DOUBLE()).sink_to(sink)
    env.execute()
    assert sorted(seen, key=repr) == sorted(
        [(Types.INT(), [1, 2, 3]), (Types.STRING(), ["a"]), (Types.DOUBLE(), [2.5])], key=repr
    )


def test_a_failing_batch_fails_the_job() -> None:
    def refuses(df: Any, number: int) -> None:
        raise ValueError("no place left")

    env = environment()
    env.from_collection([1], Types.INT()).sink_to(SparkSink.for_each_batch(refuses))
    with pytest.raises(JobError, match="no place left"):
        env.execute()
