"""What learns from streams, without a stream: the same as numpy, River and MLlib's rules say."""

from __future__ import annotations

import copy
import math
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Row, Time
from firesteel.errors import ConfigurationError, ProgramError, UnsupportedError
from firesteel.ml import Stage, Vectors
from firesteel.ml.classification import OnlineLogisticRegression, OnlineLogisticRegressionModel
from firesteel.ml.clustering import OnlineKMeans
from firesteel.ml.feature import OnlineStandardScaler
from firesteel.ml.online import (
    CountTumblingWindows,
    EventTimeTumblingWindows,
    GlobalWindows,
    Learner,
    ModelVersion,
    OnlineRiver,
    Windows,
)
from firesteel.ml.online.learner import components, field_of, with_fields


class Sample(NamedTuple):
    features: Any
    label: float = 0.0
    input: Any = ()
    weight: float = 1.0


def labelled(count: int, size: int = 3) -> list[Sample]:
    chance = random.Random(count)
    vectors = [[chance.gauss(0, 1) for _ in range(size)] for _ in range(count)]
    return [Sample(vector, float(vector[0] + chance.gauss(0, 0.5) > 0)) for vector in vectors]


def versions(learner: Learner, samples: Sequence[Any], batch: int, initial: Any = None) -> list[dict[str, Any]]:
    state, made = learner.start(initial), []
    for number, sample in enumerate(samples, 1):
        state = learner.learn(state, sample)
        if number % batch == 0:
            state, data = learner.end_batch(state)
            made.append(copy.deepcopy(data))
    return made


def test_ftrl_comes_to_the_coefficients_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    samples = labelled(40)
    theirs = linear_model.LogisticRegression(C=1e6, fit_intercept=False, tol=1e-8)
    theirs.fit([sample.features for sample in samples], [sample.label for sample in samples])
    estimator = OnlineLogisticRegression().set_alpha(2.0)
    last = versions(estimator.learner(), samples * 1500, batch=40)[-1]
    assert last["coefficient"] == pytest.approx(theirs.coef_[0], rel=0.01)


def test_a_batch_of_ftrl_is_one_step_with_the_mean_gradient() -> None:
    samples = [sample._replace(weight=1.0 + number % 3) for number, sample in enumerate(labelled(60))]
    estimator = OnlineLogisticRegression().set_weight_col("weight").set_reg(0.01).set_elastic_net(0.3)
    made = versions(estimator.learner(), samples, batch=20, initial={"coefficient": [0.1, 0.2, -0.1]})
    coefficient, z, n = np.array([0.1, 0.2, -0.1]), np.zeros(3), np.zeros(3)
    for start in range(0, 60, 20):
        part = samples[start : start + 20]
        features, weights = np.array([s.features for s in part]), np.array([s.weight for s in part])
        error = (1 / (1 + np.exp(-features @ coefficient)) - [s.label for s in part]) * weights
        gradient = (features * error[:, None]).sum(axis=0) / weights.sum()
        sigma = (np.sqrt(n + gradient**2) - np.sqrt(n)) / 0.1
        z, n = z + gradient - sigma * coefficient, n + gradient**2
        shrunk = (np.sign(z) * 0.003 - z) / ((0.1 + np.sqrt(n)) / 0.1 + 0.007)
        coefficient = np.where(np.abs(z) <= 0.003, 0, shrunk)
        assert made[start // 20]["coefficient"] == pytest.approx(coefficient)


def test_sparse_vectors_count_only_the_features_that_they_have() -> None:
    learner = OnlineLogisticRegression().learner()
    state = learner.start(None)
    for vector in (Vectors.sparse(3, {0: 1.0}), Vectors.sparse(3, {0: 1.0, 2: 2.0})):
        state = learner.learn(state, Sample(vector, 1.0))
    assert state[3:] == [[-1.0, 0.0, -1.0], [2.0, 0.0, 1.0]]


@pytest.mark.parametrize("margin", [-1000.0, 1000.0])
def test_probabilities_do_not_overflow(margin: float) -> None:
    learner = OnlineLogisticRegression().learner()
    predicted = learner.predict({"coefficient": [margin]}, Sample([1.0]))
    assert predicted == {"prediction": float(margin > 0), "raw_prediction": [float(margin < 0), float(margin > 0)]}


def test_centers_move_as_the_decay_factor_says() -> None:
    estimator = OnlineKMeans().set_decay_factor(0.5)
    initial = {"centroids": [[0.0], [10.0]], "weights": [2.0, 4.0]}
    samples = [Sample([1.0]), Sample([3.0]), Sample([10.0]), Sample([12.0]), Sample([0.0]), Sample([1.0])]
    first, second = versions(estimator.learner(), samples, batch=3, initial=initial)
    # (0 * 1 + 1 + 3) / 3 and (10 * 2 + 10) / 3
    assert first == {"centroids": [[4 / 3], [10.0]], "weights": [3.0, 3.0]}
    assert second["centroids"] == [[(4 / 3 * 1.5 + 1) / 3.5], [(10 * 1.5 + 12) / 2.5]]
    assert second["weights"] == [3.5, 2.5]


def test_centers_begin_as_the_first_different_vectors_and_find_clusters() -> None:
    chance = random.Random(4)
    points = [[place + chance.gauss(0, 0.3), place] for _ in range(50) for place in (0.0, 5.0, 10.0)]
    estimator = OnlineKMeans().set_k(3).set_decay_factor(1.0)
    last = versions(estimator.learner(), [Sample(point) for point in [points[0], *points]], batch=151)[-1]
    assert sorted(round(x) for x, _ in last["centroids"]) == [0, 5, 10]
    assert sum(last["weights"]) == 151
    predicted = [estimator.learner().predict(last, Sample(point))["prediction"] for point in points[:3]]
    assert sorted(predicted) == [0, 1, 2]


def test_cosine_distance() -> None:
    learner = OnlineKMeans().set_distance_measure("cosine").learner()
    data = {"centroids": [[1.0, 0.0], [0.0, 1.0]], "weights": [1.0, 1.0]}
    assert learner.predict(data, Sample([100.0, 99.0])) == {"prediction": 0}
    with pytest.raises(ConfigurationError, match="vector of zeros"):
        learner.predict(data, Sample([0.0, 0.0]))


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2), min_size=2, max_size=30))
def test_moments_are_those_of_numpy(vectors: list[list[float]]) -> None:
    learner = OnlineStandardScaler().set_with_mean(True).learner()
    [data] = versions(learner, [Sample((), input=vector) for vector in vectors], batch=len(vectors))
    assert data["count"] == len(vectors)
    assert data["mean"] == pytest.approx(np.mean(vectors, axis=0), abs=1e-9)
    assert data["std"] == pytest.approx(np.std(vectors, axis=0, ddof=1), abs=1e-6)
    halves = [Sample((), input=vector) for vector in vectors]
    resumed = learner.start(versions(learner, halves[:1], batch=1)[0])
    for sample in halves[1:]:
        resumed = learner.learn(resumed, sample)
    assert learner.end_batch(resumed)[1]["mean"] == pytest.approx(data["mean"], abs=1e-9)


def test_scaling_does_what_its_parameters_say() -> None:
    data, sample = {"mean": [1.0, 5.0], "std": [2.0, 0.0], "count": 3}, Sample((), input=[5.0, 5.0])

    def scaled(with_mean: bool, with_std: bool) -> Any:
        scaler = OnlineStandardScaler().set_with_mean(with_mean).set_with_std(with_std)
        return scaler.learner().predict(data, sample)["output"]

    assert scaled(True, True) == [2.0, 0.0]
    assert scaled(False, True) == [2.5, 0.0]
    assert scaled(True, False) == [4.0, 0.0]


@pytest.mark.parametrize(
    "estimator", [OnlineLogisticRegression(), OnlineKMeans(), OnlineStandardScaler().set_input_col("features")]
)
@pytest.mark.parametrize("cut", [1, 7, 13, 39])
def test_state_that_was_stored_goes_on_to_the_same_bits(estimator: Any, cut: int) -> None:
    learner, samples = estimator.learner(), labelled(40)
    state = learner.start(None)
    for sample in samples[:cut]:
        state = learner.learn(state, sample)
    state = pickle.loads(pickle.dumps(state))
    for sample in samples[cut:]:
        state = learner.learn(state, sample)
    assert [learner.end_batch(state)[1]] == versions(learner, samples, batch=40)


@pytest.mark.parametrize(
    ("learner", "sample", "message"),
    [
        (OnlineLogisticRegression().learner(), Sample([1.0], 2.0), r"labels are 0 and 1, got 2.0 in Sample"),
        (OnlineLogisticRegression().learner(), Sample("text"), "learns from vectors of numbers, got 'text'"),
        (OnlineLogisticRegression().learner(), Sample(3), "learns from vectors of numbers, got 3"),
        (
            OnlineLogisticRegression().set_label_col("y").learner(),
            Sample([1.0]),
            "reads the field 'y', which the record",
        ),
        (OnlineKMeans().learner(), Row(other=1), "reads the field 'features', which the record"),
        (OnlineStandardScaler().learner(), {"features": 1}, "reads the field 'input', which the record"),
    ],
)
def test_records_that_cannot_be_learned_from_say_why(learner: Learner, sample: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        learner.learn(learner.start(None), sample)


def test_vectors_of_another_size_are_refused() -> None:
    for estimator in (OnlineLogisticRegression(), OnlineKMeans()):
        learner = estimator.learner()
        state = learner.learn(learner.start(None), Sample([1.0, 2.0]))
        with pytest.raises(ConfigurationError, match="has learned from vectors of 2 numbers, got one of 3"):
            learner.learn(state, Sample([1.0, 2.0, 3.0]))


def test_model_data_to_begin_with_is_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"model data is \{'coefficient': numbers\}"):
        OnlineLogisticRegression().set_initial_model_data({"weights": [1]})
    with pytest.raises(ConfigurationError, match="'centroids': 2 vectors of one size"):
        OnlineKMeans().set_initial_model_data({"centroids": [[1.0]]})
    with pytest.raises(ConfigurationError, match="model data is a ModelVersion or a dict, got 3"):
        OnlineKMeans().set_initial_model_data(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="'count': how many"):
        OnlineStandardScaler().set_initial_model_data({"mean": [1]})


def test_fields_of_records_of_all_kinds() -> None:
    class Plain:
        def __init__(self) -> None:
            self.a = 1

    for record in (Row(a=1), {"a": 1}, Plain()):
        assert field_of(record, "a", "Test") == 1
    assert with_fields({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}
    assert with_fields(Row(a=1), {"b": 2}) == with_fields(Plain(), {"b": 2}) == Row(a=1, b=2)
    assert with_fields(ModelVersion(1, None), {"b": 2}) == Row(version=1, timestamp=None, data={}, key=None, b=2)
    assert with_fields(Sample([1]), {"b": 2}).b == 2
    assert components(np.array([1.0, 2.0]), None, "Test") == (2, [(0, 1.0), (1, 2.0)])


def test_windows_say_when_batches_end() -> None:
    assert EventTimeTumblingWindows.of(Time.seconds(1)).end_of(1999) == 1999
    assert EventTimeTumblingWindows.of(Time.seconds(1)).end_of(-1) == -1
    assert CountTumblingWindows.of(3).end_of(5) is None
    assert GlobalWindows().end_of(None) == 2**63 - 1
    with pytest.raises(ConfigurationError, match=r"no timestamp. Call assign_timestamps_and_watermarks"):
        EventTimeTumblingWindows.of(Time.seconds(1)).end_of(None)
    with pytest.raises(ConfigurationError, match="takes a positive int, got 0"):
        CountTumblingWindows.of(0)
    with pytest.raises(ConfigurationError, match="takes a positive Time"):
        EventTimeTumblingWindows.of(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="windows are such as"):
        OnlineStandardScaler().set_windows(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="they are one of GlobalWindows"):
        Windows.from_json({"windows": "Other"})


def test_estimators_are_saved_and_online_models_are_not(tmp_path: Path) -> None:
    regression = OnlineLogisticRegression().set_alpha(0.5).set_initial_model_data({"coefficient": [1.0, 2.0]})
    regression.save(str(tmp_path / "regression"))
    loaded = OnlineLogisticRegression.load(str(tmp_path / "regression"))
    assert (loaded.alpha, loaded.learner().start(loaded._initial)[0]) == (0.5, [1.0, 2.0])
    for windows in (CountTumblingWindows(5), EventTimeTumblingWindows(7), GlobalWindows()):
        OnlineStandardScaler().set_windows(windows).save(str(tmp_path / type(windows).__name__))
        scaler: Any = Stage.load(str(tmp_path / type(windows).__name__))
        assert scaler.get_windows() == windows
    with pytest.raises(UnsupportedError, match=r"its versions are a stream. Write get_model_data\(\) to a sink"):
        OnlineLogisticRegressionModel().save(str(tmp_path / "model"))
    with pytest.raises(ProgramError, match="has no versions: fit an estimator"):
        OnlineLogisticRegressionModel().get_model_data()


class CountsLabels:
    """Has River's two methods."""

    def __init__(self) -> None:
        self.seen: dict[Any, int] = {}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        self.seen[y] = self.seen.get(y, 0) + len(x)

    def predict_one(self, x: dict[Any, Any]) -> Any:
        return max(self.seen, key=lambda label: self.seen[label], default=None)


def test_anything_with_rivers_methods_learns() -> None:
    model = CountsLabels()
    learner = OnlineRiver(model).learner()
    made = versions(learner, [Sample({"a": 1}, 1.0), Sample([1, 2], 0.0)], batch=1)
    assert [data["model"].seen for data in made] == [{1.0: 1}, {1.0: 1, 0.0: 2}]
    assert learner.predict(made[1], Sample({})) == {"prediction": 0.0}
    assert model.seen == {}
    with pytest.raises(ConfigurationError, match=r"takes a model with learn_one\(\) and predict_one\(\), got 3"):
        OnlineRiver(3)
    with pytest.raises(ConfigurationError, match=r"learns with OnlineRiver\(model\), .* got no model"):
        OnlineRiver().fit(None)


def test_models_of_river_learn_with_and_without_labels() -> None:
    cluster, linear_model = pytest.importorskip("river.cluster"), pytest.importorskip("river.linear_model")
    samples = [Sample({"x": float(n % 2)}, float(n % 2)) for n in range(50)]
    learner = OnlineRiver(linear_model.LogisticRegression()).learner()
    last = versions(learner, samples, batch=50)[-1]
    assert [learner.predict(last, sample)["prediction"] for sample in samples[:2]] == [False, True]
    unsupervised = OnlineRiver(cluster.KMeans(n_clusters=2, seed=1)).learner()
    made = versions(unsupervised, samples, batch=50)[-1]
    assert unsupervised.predict(made, samples[0])["prediction"] in (0, 1)
    assert math.isfinite(made["model"].centers[0]["x"])
