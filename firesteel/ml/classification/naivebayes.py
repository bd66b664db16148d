"""Naive Bayes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol
from firesteel.ml.mllib import SparkEstimator, SparkModel, matrix, number_rows, numbers, vector
from firesteel.ml.param import FloatParam, Param, ParamValidators, StringParam

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["NaiveBayes", "NaiveBayesModel"]


class _ModelParams(HasFeaturesCol, HasPredictionCol):
    """Parameters of :class:`NaiveBayesModel`."""

    MODEL_TYPE: Param[str] = StringParam(
        "model_type",
        "What features are: counts (multinomial, complement), 0 or 1 (bernoulli), numbers (gaussian).",
        "multinomial",
        ParamValidators.in_array(["multinomial", "bernoulli", "complement", "gaussian"]),
    )

    def set_model_type(self, value: str) -> Self:
        """What features are: counts (multinomial, complement), 0 or 1 (bernoulli), numbers (gaussian)."""
        return self.set(self.MODEL_TYPE, value)

    def get_model_type(self) -> str:
        """What features are: counts (multinomial, complement), 0 or 1 (bernoulli), numbers (gaussian)."""
        return self.get(self.MODEL_TYPE)

    @property
    def model_type(self) -> str:
        """What features are: counts (multinomial, complement), 0 or 1 (bernoulli), numbers (gaussian)."""
        return self.get(self.MODEL_TYPE)


class _Params(_ModelParams, HasLabelCol, HasWeightCol):
    """Parameters of :class:`NaiveBayes`."""

    SMOOTHING: Param[float] = FloatParam("smoothing", "What is added to all counts.", 1.0, ParamValidators.gt_eq(0))

    def set_smoothing(self, value: float) -> Self:
        """What is added to all counts."""
        return self.set(self.SMOOTHING, value)

    def get_smoothing(self) -> float:
        """What is added to all counts."""
        return self.get(self.SMOOTHING)

    @property
    def smoothing(self) -> float:
        """What is added to all counts."""
        return self.get(self.SMOOTHING)


class NaiveBayesModel(SparkModel, _ModelParams):
    """Predicts the most probable class of a vector, as if features were independent."""

    spark_class = "classification.NaiveBayesModel"
    model_fields = {"pi": "array<double>", "theta": "array<array<double>>", "sigma": "array<array<double>>"}

    def java_arguments(self) -> tuple[Any, ...]:
        learned = self.learned
        return vector(learned["pi"]), matrix(learned["theta"]), matrix(learned["sigma"])


class NaiveBayes(SparkEstimator, _Params):
    """Learns how often features occur in each class. Labels are 0, 1, ..."""

    spark_class = "classification.NaiveBayes"
    model_class = NaiveBayesModel

    def read(self, fitted: Any) -> dict[str, Any]:
        gaussian = self.model_type == "gaussian"
        sigma = number_rows(fitted.sigma) if gaussian else []
        return {"pi": numbers(fitted.pi), "theta": number_rows(fitted.theta), "sigma": sigma}
