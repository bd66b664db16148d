"""k-means from a stream."""

from __future__ import annotations

import math
from typing import Any

from firesteel.errors import ConfigurationError
from firesteel.ml.clustering.params import KMeansModelParams
from firesteel.ml.common.param import HasDecayFactor, HasGlobalBatchSize
from firesteel.ml.online import CountTumblingWindows, Learner, OnlineEstimator, OnlineModel, Windows
from firesteel.ml.online.learner import dense, field_of

__all__ = ["OnlineKMeans", "OnlineKMeansModel"]

_OWNER = "OnlineKMeans"


class OnlineKMeansModel(OnlineModel, KMeansModelParams):
    """Predicts the cluster whose center is nearest.

    Its versions have the data ``{"centroids": [[...], ...], "weights": [...]}``.
    """


class OnlineKMeans(OnlineEstimator, KMeansModelParams, HasDecayFactor, HasGlobalBatchSize):
    """Moves centers with the vectors of a stream: after each batch, a center is the mean of the vectors that were
    nearest to it, and of itself with the weight of what came before, times ``decay_factor``.

    With a decay factor of 1 all records count the same; with 0 only the last batch that a center had a part in. Centers
    begin as the first ``k`` different vectors, or with ``set_initial_model_data({"centroids": ..., "weights": ...})``.
    """

    model_class = OnlineKMeansModel

    def learner(self) -> Learner:
        return _MiniBatchKMeans(self)

    def batches(self) -> Windows:
        return CountTumblingWindows(self.global_batch_size)


class _MiniBatchKMeans(Learner):
    """State: centers, their weights, and sums and numbers of the vectors of the batch so far."""

    def __init__(self, settings: OnlineKMeans) -> None:
        self._features, self._prediction = settings.features_col, settings.prediction_col
        self._k, self._decay = settings.k, settings.decay_factor
        self._cosine = settings.distance_measure == "cosine"

    def start(self, initial: dict[str, Any] | None) -> Any:
        if initial is None:
            return [[], [], [], []]
        try:
            centers = [[float(number) for number in center] for center in initial["centroids"]]
            weights = [float(weight) for weight in initial.get("weights") or [0.0] * len(centers)]
        except (KeyError, TypeError, ValueError, AttributeError):
            centers, weights = [], [0.0]
        if len(centers) != self._k or len(weights) != self._k or len({len(center) for center in centers}) != 1:
            raise ConfigurationError(
                f"{_OWNER}: model data is {{'centroids': {self._k} vectors of one size, 'weights': as many}}, "
                f"got {initial!r}."
            )
        return [centers, weights, [[0.0] * len(center) for center in centers], [0] * len(centers)]

    def learn(self, state: Any, record: Any) -> Any:
        centers, weights, sums, counts = state
        size = len(centers[0]) if centers else None
        vector = dense(field_of(record, self._features, _OWNER), size, _OWNER)
        if len(centers) < self._k and vector not in centers:
            centers.append(vector)
            weights.append(0.0)
            sums.append([0.0] * len(vector))
            counts.append(0)
        nearest = self._nearest(centers, vector)
        counts[nearest] += 1
        total = sums[nearest]
        for at, number in enumerate(vector):
            total[at] += number
        return state

    def end_batch(self, state: Any) -> tuple[Any, dict[str, Any]]:
        centers, weights, sums, counts = state
        for which, (total, count) in enumerate(zip(sums, counts)):
            weights[which] *= self._decay
            if not count:
                continue
            before = weights[which]
            weights[which] = before + count
            centers[which] = [
                (old * before + new) / weights[which] for old, new in zip(centers[which], total, strict=True)
            ]
        cleared = [[0.0] * len(center) for center in centers]
        data = {"centroids": [list(center) for center in centers], "weights": list(weights)}
        return [centers, weights, cleared, [0] * len(centers)], data

    def predict(self, data: dict[str, Any], record: Any) -> dict[str, Any]:
        centers = data["centroids"]
        vector = dense(field_of(record, self._features, _OWNER), len(centers[0]), _OWNER)
        return {self._prediction: self._nearest(centers, vector)}

    def _nearest(self, centers: list[list[float]], vector: list[float]) -> int:
        measure = _cosine_distance if self._cosine else _squared_distance
        distances = [measure(center, vector) for center in centers]
        return distances.index(min(distances))


def _squared_distance(one: list[float], other: list[float]) -> float:
    total = 0.0
    for a, b in zip(one, other, strict=True):
        total += (a - b) * (a - b)
    return total


def _cosine_distance(one: list[float], other: list[float]) -> float:
    product = norms_one = norms_other = 0.0
    for a, b in zip(one, other, strict=True):
        product, norms_one, norms_other = product + a * b, norms_one + a * a, norms_other + b * b
    if not norms_one or not norms_other:
        raise ConfigurationError(f"{_OWNER}: the cosine distance of a vector of zeros is not defined.")
    return 1 - product / math.sqrt(norms_one * norms_other)
