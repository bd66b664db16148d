"""Models that learn inside a job: their versions, predictions by the model of their time, the same after failures."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from firesteel.common import Row, Time
from firesteel.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.errors import ConfigurationError, JobFailedError, ProgramError
from firesteel.ml.classification import OnlineLogisticRegression, OnlineLogisticRegressionModel
from firesteel.ml.clustering import OnlineKMeans
from firesteel.ml.feature import OnlineStandardScaler
from firesteel.ml.online import CountTumblingWindows, EventTimeTumblingWindows, ModelVersion, OnlineRiver
from firesteel.testing import CRASH, EPOCH_CUT, element, use_clock, watermark
from tests.features.executors import MakeEnv, collect
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

COUNT = 60


class Sample(NamedTuple):
    features: tuple[float, ...]
    label: float
    key: str = "a"


def samples(count: int = COUNT) -> list[Sample]:
    chance = random.Random(3)
    made = []
    for number in range(count):
        features = (chance.gauss(0, 1), chance.gauss(0, 1), 1.0)
        made.append(Sample(features, float(features[0] > features[1]), "ab"[number % 2]))
    return made


def script(signs: dict[int, list[Any]], records: list[Any] | None = None) -> list[Any]:
    """Records at the times 0, 10, 20, ... with watermarks behind them, and signs after some of them."""
    steps: list[Any] = []
    for number, record in enumerate(records or samples()):
        steps += [element(record, number * 10), watermark(number * 10), *signs.get(number, [])]
    return steps


UNBROKEN: dict[int, list[Any]] = {9: [EPOCH_CUT]}
BROKEN = {9: [EPOCH_CUT], 20: [EPOCH_CUT], 26: [EPOCH_CUT], 31: [CRASH], 40: [EPOCH_CUT], 44: [EPOCH_CUT, CRASH]}

ESTIMATORS = {
    "logistic regression": lambda: OnlineLogisticRegression().set_global_batch_size(7).set_reg(0.01),
    "k-means": lambda: OnlineKMeans().set_global_batch_size(7).set_decay_factor(0.9),
    "standard scaler, by number": lambda: (
        OnlineStandardScaler().set_input_col("features").set_windows(CountTumblingWindows.of(7))
    ),
    "standard scaler, by time": lambda: (
        OnlineStandardScaler().set_input_col("features").set_windows(EventTimeTumblingWindows.of(Time.milliseconds(70)))
    ),
    "standard scaler, at the end": lambda: OnlineStandardScaler().set_input_col("features"),
}


def versions(env: StreamExecutionEnvironment, estimator: Any, signs: dict[int, list[Any]]) -> list[ModelVersion]:
    with use_clock(checkpoint_each_epoch()):
        made = collect(estimator.fit(scripted(recovering(env), script(signs))).get_model_data()[0])
    return sorted(made, key=lambda version: version.version)


@pytest.mark.feature("ML-02")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_after_a_crash_the_weights_are_the_same_to_the_last_bit(name: str, make_env: MakeEnv) -> None:
    unbroken = versions(make_env(2), ESTIMATORS[name](), UNBROKEN)
    assert versions(make_env(2), ESTIMATORS[name](), BROKEN) == unbroken
    assert [version.version for version in unbroken] == list(range(1, len(unbroken) + 1))
    expected = {"standard scaler, by time": 9, "standard scaler, at the end": 1}
    assert len(unbroken) == expected.get(name, COUNT // 7)


def predictions(env: StreamExecutionEnvironment, signs: dict[int, list[Any]], keyed: bool = False) -> list[Row]:
    """Records of one script are predicted with versions that learn from another."""
    estimator = OnlineLogisticRegression().set_global_batch_size(5).set_initial_model_data({"coefficient": [0, 0, 0]})
    training: DataStream = scripted(recovering(env), script(signs))
    asked: DataStream = scripted(
        env, script({4: [EPOCH_CUT]}, [Row(features=s.features, key=s.key) for s in samples()])
    )
    if keyed:
        training, asked = training.key_by(lambda s: s.key), asked.key_by(lambda row: row.key)
    with use_clock(checkpoint_each_epoch()):
        found = collect(estimator.fit(training).transform(asked)[0])
    return sorted(found, key=lambda row: row.features)


@pytest.mark.feature("ML-02")
@pytest.mark.parametrize(
    ("executor", "keyed"), [("in-process", False), ("in-process", True), ("spark", False)], indirect=["executor"]
)
def test_predictions_are_by_the_model_of_their_time_whatever_fails(keyed: bool, make_env: MakeEnv) -> None:
    broken = predictions(make_env(2), BROKEN, keyed)
    in_process = make_env(1, {"execution.target": "in-process"})
    assert broken == predictions(in_process, UNBROKEN, keyed)
    times = {sample.features: number for number, sample in enumerate(samples())}
    # A version is in force from the time of the last record that it has learned from.
    seen = {True: lambda number: (number // 2 + 1) // 5, False: lambda number: (number + 1) // 5}[keyed]
    assert [row.model_version for row in broken] == [seen(times[row.features]) for row in broken]
    assert len(broken) == COUNT


@pytest.mark.feature("ML-02")
def test_a_model_per_key(make_env: MakeEnv) -> None:
    estimator = OnlineLogisticRegression().set_global_batch_size(10)
    together = estimator.fit(scripted(make_env(2), script({})).key_by(lambda sample: sample.key))
    found = {(version.key, version.version): version.data for version in collect(together.get_model_data()[0])}
    assert sorted(found) == [(key, number) for key in "ab" for number in (1, 2, 3)]
    only_a = [sample for sample in samples() if sample.key == "a"]
    alone = collect(estimator.fit(scripted(make_env(), script({}, only_a))).get_model_data()[0])
    assert [found["a", version.version] for version in alone] == [version.data for version in alone]
    assert {version.key for version in alone} == {None}


def test_records_before_the_first_version_wait_for_it(make_env: MakeEnv) -> None:
    env = make_env(2)
    scaler = OnlineStandardScaler().set_input_col("features").set_windows(CountTumblingWindows.of(30))
    asked = scripted(env, script({}, [{"features": s.features} for s in samples()]))
    found = collect(scaler.fit(scripted(env, script({20: [EPOCH_CUT]}))).transform(asked)[0])
    times = {sample.features: number for number, sample in enumerate(samples())}
    assert {(times[row["features"]] >= 59, row["model_version"]) for row in found} == {(False, 1), (True, 2)}
    assert len(found) == COUNT


@pytest.mark.shuffle("with direct exchange, which of two inputs comes first is not defined, as in Flink")
def test_without_timestamps_the_newest_version_predicts(env: StreamExecutionEnvironment) -> None:
    training = scripted(env, [*samples(10), EPOCH_CUT, *samples(10)])
    asked = scripted(env, [Row(features=(0.0, 1.0, 1.0)), EPOCH_CUT, Row(features=(0.0, 1.0, 2.0))])
    model = OnlineLogisticRegression().set_global_batch_size(10).set_model_version_col("v").fit(training)
    found = collect(model.transform(asked)[0])
    assert [(row.features[2], row.v) for row in found] == [(1.0, 1), (2.0, 2)]
    assert set(found[0].as_dict()) == {"features", "prediction", "raw_prediction", "v"}


def test_late_records_are_predicted_at_once_and_late_training_changes_no_past(env: StreamExecutionEnvironment) -> None:
    record = Sample((1.0, 0.0, 1.0), 1.0)
    training = [element(record, 10), watermark(100), EPOCH_CUT, element(record, 20), EPOCH_CUT, watermark(300)]
    asked = [watermark(100), element(Row(features=(1.0, 0.0, 1.0), at=60), 60), EPOCH_CUT, EPOCH_CUT]
    asked += [element(Row(features=(1.0, 0.0, 1.0), at=at), at) for at in (50, 101, 150)] + [watermark(300)]
    estimator = OnlineLogisticRegression().set_global_batch_size(1).set_initial_model_data({"coefficient": [0, 0, 0]})
    model = estimator.fit(scripted(env, training))
    found = collect(model.transform(scripted(env, asked))[0])
    # The second version has learned from a late record: it is in force from 101 on, not from 20.
    assert sorted((row.at, row.model_version) for row in found) == [(50, 1), (60, 1), (101, 2), (150, 2)]


def test_versions_of_the_past_are_forgotten() -> None:
    from firesteel.ml.online.predicting import in_force, keep

    kept: dict[int, Any] = {}

    class State(dict[int, Any]):
        def put(self, time: int, version: Any) -> None:
            self[time] = version

        def remove(self, time: int) -> None:
            del self[time]

    kept = State()
    firsts = [keep(kept, ModelVersion(number, number * 10), number * 10 - 25) for number in range(1, 101)]
    assert firsts == [True] + [False] * 99
    assert sorted(kept) == [970, 980, 990, 1000]
    asked = [in_force(kept, time, ModelVersion(0, None)) for time in (969, 975, 5000, None)]
    assert [version and version.version for version in asked] == [97, 97, 100, 100]
    assert in_force({}, 5, None) is None


def test_learning_goes_on_from_a_version(make_env: MakeEnv) -> None:
    estimator = OnlineKMeans().set_global_batch_size(10).set_decay_factor(1.0)
    whole = collect(estimator.fit(make_env().from_collection(samples(40))).get_model_data()[0])
    half = collect(estimator.fit(make_env().from_collection(samples(20))).get_model_data()[0])
    estimator.set_initial_model_data(half[-1])
    rest = collect(estimator.fit(make_env().from_collection(samples(40)[20:])).get_model_data()[0])
    assert [version.data for version in half + rest] == [version.data for version in whole]


@pytest.mark.feature("ML-02")
def test_a_model_of_river_learns_in_a_job(env: StreamExecutionEnvironment) -> None:
    linear_model = pytest.importorskip("river.linear_model")
    model = (
        OnlineRiver(linear_model.LogisticRegression())
        .set_global_batch_size(30)
        .fit(scripted(recovering(env), script({10: [EPOCH_CUT], 25: [CRASH], 33: [EPOCH_CUT, CRASH]})))
    )
    with use_clock(checkpoint_each_epoch()):
        first, second = collect(model.get_model_data()[0])
    expected = linear_model.LogisticRegression()
    for sample in samples():
        expected.learn_one(dict(enumerate(sample.features)), sample.label)
    assert second.data["model"].weights == expected.weights
    assert first.data["model"].weights != expected.weights


def test_wrong_programs_say_what_to_do(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(samples(4))
    with pytest.raises(ConfigurationError, match="OnlineKMeans is online: it takes a DataStream, got list"):
        OnlineKMeans().fit([1])
    with pytest.raises(ConfigurationError, match="OnlineKMeans takes one stream, got 2"):
        OnlineKMeans().fit(stream, stream)
    per_key = OnlineKMeans().fit(stream.key_by(lambda sample: sample.key))
    with pytest.raises(ProgramError, match=r"has a model per key: call key_by\(\)"):
        per_key.transform(stream)
    wrong = OnlineLogisticRegression().set_label_col("truth").fit(env.from_collection(samples(4)))
    with pytest.raises(JobFailedError, match="OnlineLogisticRegression reads the field 'truth'"):
        collect(wrong.get_model_data()[0])


def test_parameters_of_the_model_count_when_it_predicts(env: StreamExecutionEnvironment) -> None:
    model = OnlineLogisticRegression().set_global_batch_size(5).fit(env.from_collection(samples(10)))
    model.set_prediction_col("guess").set_raw_prediction_col("chances").set_model_version_col("of")
    [row] = collect(model.transform(scripted(env, [EPOCH_CUT, Row(features=(5.0, 0.0, 1.0))]))[0])
    assert (row.guess, len(row.chances), row.of) == (1.0, 2, 2)


@pytest.mark.parametrize("keyed", [False, True])
def test_versions_of_another_stream_predict(keyed: bool, env: StreamExecutionEnvironment) -> None:
    stored = [ModelVersion(7, None, {"coefficient": [1.0, -1.0, 0.0]}, "a" if keyed else None)]
    versions: DataStream = env.from_collection(stored)
    asked: DataStream = scripted(env, [EPOCH_CUT, *samples(20)])
    if keyed:
        versions, asked = versions.key_by(lambda version: version.key), asked.key_by(lambda sample: sample.key)
    found = collect(OnlineLogisticRegressionModel().set_model_data(versions).transform(asked)[0])
    # There is no model of the key b, so that its records wait for one.
    assert {row.key for row in found} == ({"a"} if keyed else {"a", "b"})
    assert all((row.prediction, row.model_version) == (row.label, 7) for row in found)


def test_the_same_in_batch_mode(make_env: MakeEnv) -> None:
    found = []
    for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
        env = make_env(2)
        env.set_runtime_mode(mode)
        training, asked = scripted(env, script({})), scripted(env, script({}))
        model = OnlineLogisticRegression().set_global_batch_size(5).fit(training)
        found.append(sorted(collect(model.transform(asked)[0]), key=lambda row: row.features))
    assert found[0] == found[1]
    assert len(found[0]) == COUNT


def test_records_too_late_for_their_window_are_learned_from_with_the_open_one(env: StreamExecutionEnvironment) -> None:
    steps = [element(Row(input=[1.0]), 5), watermark(25), element(Row(input=[3.0]), 6), watermark(29)]
    windows = EventTimeTumblingWindows.of(Time.milliseconds(10))
    found = collect(OnlineStandardScaler().set_windows(windows).fit(scripted(env, steps)).get_model_data()[0])
    assert [(version.timestamp, version.data["mean"]) for version in found] == [(9, [1.0]), (29, [2.0])]
