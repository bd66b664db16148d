"""Any model of River (https://riverml.xyz), or anything with its ``learn_one`` and ``predict_one``."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.ml.api import Table
from firesteel.ml.common.param import HasFeaturesCol, HasGlobalBatchSize, HasLabelCol, HasPredictionCol
from firesteel.ml.online.batches import CountTumblingWindows, Windows
from firesteel.ml.online.learner import Learner, field_of
from firesteel.ml.online.stages import OnlineEstimator, OnlineModel
from firesteel.ml.saving import Saving

__all__ = ["OnlineRiver", "OnlineRiverModel"]


class OnlineRiverModel(OnlineModel, HasFeaturesCol, HasPredictionCol):
    """Predicts with a version of a River model."""


class OnlineRiver(OnlineEstimator, HasFeaturesCol, HasLabelCol, HasPredictionCol, HasGlobalBatchSize):
    """Lets a model of River learn. Features are a dict, as River has them; a vector becomes one, by place.

    ::

        OnlineRiver(linear_model.LogisticRegression()).set_global_batch_size(100).fit(stream)

    Labels may be None for models that learn without them. It learns record by record; the batch size says only how
    often there is a version. River itself is not needed: anything with its two methods will do.

    :param model: The model as it is before the first record; it is copied.
    """

    model_class = OnlineRiverModel

    def __init__(self, model: Any = None) -> None:
        if model is not None and not (hasattr(model, "learn_one") and hasattr(model, "predict_one")):
            raise ConfigurationError(f"OnlineRiver takes a model with learn_one() and predict_one(), got {model!r}.")
        self._model = model

    def learner(self) -> Learner:
        return _RiverLearner(self._model, self.features_col, self.label_col, self.prediction_col)

    def batches(self) -> Windows:
        return CountTumblingWindows(self.global_batch_size)

    def fit(self, *inputs: Table) -> Any:
        self.learner().start(self._initial)  # says that there is no model, before the job runs
        return super().fit(*inputs)

    def save_content(self, saving: Saving) -> None:
        raise UnsupportedError("OnlineRiver cannot be saved: River's models have no stored form but pickle.")


class _RiverLearner(Learner):
    def __init__(self, model: Any, features: str, label: str, prediction: str) -> None:
        self._model, self._features, self._label, self._prediction = model, features, label, prediction
        self._supervised = model is None or bool(getattr(model, "_supervised", True))

    def start(self, initial: dict[str, Any] | None) -> Any:
        model = self._model if initial is None else initial.get("model")
        if not hasattr(model, "learn_one"):
            got = "no model" if initial is None else repr(initial)
            raise ConfigurationError(
                f"OnlineRiver learns with OnlineRiver(model), or goes on from {{'model': ...}}, got {got}."
            )
        return copy.deepcopy(model)

    def learn(self, state: Any, record: Any) -> Any:
        features = self._dict_of(record)
        if self._supervised:
            state.learn_one(features, field_of(record, self._label, "OnlineRiver"))
        else:
            state.learn_one(features)
        return state

    def end_batch(self, state: Any) -> tuple[Any, dict[str, Any]]:
        return state, {"model": copy.deepcopy(state)}

    def predict(self, data: dict[str, Any], record: Any) -> dict[str, Any]:
        return {self._prediction: data["model"].predict_one(self._dict_of(record))}

    def _dict_of(self, record: Any) -> dict[Any, Any]:
        features = field_of(record, self._features, "OnlineRiver")
        return dict(features) if isinstance(features, Mapping) else dict(enumerate(features))
