"""Logistic regression from a stream, by follow-the-regularized-leader (FTRL-Proximal)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from firesteel.errors import ConfigurationError
from firesteel.ml.common.param import (
    HasElasticNet,
    HasFeaturesCol,
    HasGlobalBatchSize,
    HasLabelCol,
    HasPredictionCol,
    HasRawPredictionCol,
    HasReg,
    HasWeightCol,
)
from firesteel.ml.online import CountTumblingWindows, Learner, OnlineEstimator, OnlineModel, Windows
from firesteel.ml.online.learner import components, field_of
from firesteel.ml.param import FloatParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OnlineLogisticRegression", "OnlineLogisticRegressionModel"]

_OWNER = "OnlineLogisticRegression"


class _ModelParams(HasFeaturesCol, HasPredictionCol, HasRawPredictionCol):
    """Parameters of :class:`OnlineLogisticRegressionModel`."""


class OnlineLogisticRegressionModel(OnlineModel, _ModelParams):
    """Predicts 0 or 1; ``raw_prediction_col`` has the probability of each.

    Its versions have the data ``{"coefficient": [...]}``. There is no constant term: give vectors a component of 1.
    """


class OnlineLogisticRegression(
    OnlineEstimator, _ModelParams, HasLabelCol, HasWeightCol, HasReg, HasElasticNet, HasGlobalBatchSize
):
    """Learns the probability that a label is 1 from a stream, by FTRL-Proximal (McMahan et al., 2013).

    Coefficients begin at zero, or with ``set_initial_model_data({"coefficient": [...]})``. In sparse vectors, the
    gradient of a feature is the mean over the records that have it.
    """

    model_class = OnlineLogisticRegressionModel

    ALPHA: Param[float] = FloatParam("alpha", "How large steps are.", 0.1, ParamValidators.gt(0))
    BETA: Param[float] = FloatParam("beta", "How much the first steps are damped.", 0.1, ParamValidators.gt(0))

    def set_alpha(self, value: float) -> Self:
        """How large steps are."""
        return self.set(self.ALPHA, value)

    def get_alpha(self) -> float:
        """How large steps are."""
        return self.get(self.ALPHA)

    @property
    def alpha(self) -> float:
        """How large steps are."""
        return self.get(self.ALPHA)

    def set_beta(self, value: float) -> Self:
        """How much the first steps are damped."""
        return self.set(self.BETA, value)

    def get_beta(self) -> float:
        """How much the first steps are damped."""
        return self.get(self.BETA)

    @property
    def beta(self) -> float:
        """How much the first steps are damped."""
        return self.get(self.BETA)

    def learner(self) -> Learner:
        return _Ftrl(self)

    def batches(self) -> Windows:
        return CountTumblingWindows(self.global_batch_size)


class _Ftrl(Learner):
    """State: coefficients, then per coordinate FTRL's z and n, and gradient and weight of the batch so far."""

    def __init__(self, settings: OnlineLogisticRegression) -> None:
        self._features, self._label, self._weight = settings.features_col, settings.label_col, settings.weight_col
        self._prediction, self._raw = settings.prediction_col, settings.raw_prediction_col
        self._alpha, self._beta = settings.alpha, settings.beta
        self._l1, self._l2 = settings.elastic_net * settings.reg, (1 - settings.elastic_net) * settings.reg

    def start(self, initial: dict[str, Any] | None) -> Any:
        if initial is None:
            return None
        try:
            coefficient = [float(each) for each in initial["coefficient"]]
        except (KeyError, TypeError, ValueError):
            raise ConfigurationError(f"{_OWNER}: model data is {{'coefficient': numbers}}, got {initial!r}.") from None
        return [coefficient, *([0.0] * len(coefficient) for _ in range(4))]

    def learn(self, state: Any, record: Any) -> Any:
        vector = field_of(record, self._features, _OWNER)
        size, numbers = components(vector, None if state is None else len(state[0]), _OWNER)
        label = field_of(record, self._label, _OWNER)
        if label not in (0, 1):
            raise ConfigurationError(f"{_OWNER}: labels are 0 and 1, got {label!r} in {record!r}.")
        if state is None:
            state = [[0.0] * size for _ in range(5)]
        coefficient, _, _, gradient, weights = state
        weight = 1.0 if self._weight is None else float(field_of(record, self._weight, _OWNER))
        error = (_probability(coefficient, numbers) - float(label)) * weight
        for at, number in numbers:
            gradient[at] += error * number
            weights[at] += weight
        return state

    def end_batch(self, state: Any) -> tuple[Any, dict[str, Any]]:
        coefficient, z, n, gradient, weights = state
        for at in range(len(coefficient)):
            step = gradient[at] / weights[at] if weights[at] else gradient[at]
            sigma = (math.sqrt(n[at] + step * step) - math.sqrt(n[at])) / self._alpha
            z[at] += step - sigma * coefficient[at]
            n[at] += step * step
            coefficient[at] = self._proximal(z[at], n[at])
        zeros = [0.0] * len(coefficient)
        return [coefficient, z, n, zeros, list(zeros)], {"coefficient": list(coefficient)}

    def _proximal(self, z: float, n: float) -> float:
        if abs(z) <= self._l1:
            return 0.0
        sign = -1 if z < 0 else 1
        return (sign * self._l1 - z) / ((self._beta + math.sqrt(n)) / self._alpha + self._l2)

    def predict(self, data: dict[str, Any], record: Any) -> dict[str, Any]:
        coefficient = data["coefficient"]
        _, numbers = components(field_of(record, self._features, _OWNER), len(coefficient), _OWNER)
        probability = _probability(coefficient, numbers)
        return {self._prediction: float(probability >= 0.5), self._raw: [1 - probability, probability]}


def _probability(coefficient: list[float], numbers: Any) -> float:
    margin = 0.0
    for at, number in numbers:
        margin += coefficient[at] * number
    # Neither exponential overflows.
    return 1 / (1 + math.exp(-margin)) if margin >= 0 else math.exp(margin) / (1 + math.exp(margin))
