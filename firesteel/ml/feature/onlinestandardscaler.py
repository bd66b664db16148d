"""Features with mean 0 and standard deviation 1, learned from a stream."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from firesteel.errors import ConfigurationError
from firesteel.ml.feature.standardscaler import StandardScalerParams
from firesteel.ml.online import GlobalWindows, Learner, OnlineEstimator, OnlineModel, Windows
from firesteel.ml.online.learner import dense, field_of
from firesteel.ml.saving import Saved, Saving

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["OnlineStandardScaler", "OnlineStandardScalerModel"]

_OWNER = "OnlineStandardScaler"


class OnlineStandardScalerModel(OnlineModel, StandardScalerParams):
    """Scales features by what was known at their time.

    Its versions have the data ``{"mean": [...], "std": [...], "count": n}``.
    """


class OnlineStandardScaler(OnlineEstimator, StandardScalerParams):
    """Learns mean and standard deviation of each feature from all records so far; each window makes a version.

    Without :meth:`set_windows` there is one version, when the stream ends.
    """

    model_class = OnlineStandardScalerModel
    _windows: Windows = GlobalWindows()

    def set_windows(self, value: Windows) -> Self:
        """Which records make a version: see :class:`~firesteel.ml.online.CountTumblingWindows` and its like."""
        if not isinstance(value, Windows):
            raise ConfigurationError(f"{_OWNER}: windows are such as CountTumblingWindows.of(100), got {value!r}.")
        self._windows = value
        return self

    def get_windows(self) -> Windows:
        """Which records make a version."""
        return self._windows

    @property
    def windows(self) -> Windows:
        """Which records make a version."""
        return self._windows

    def learner(self) -> Learner:
        return _Moments(self)

    def batches(self) -> Windows:
        return self._windows

    def save_content(self, saving: Saving) -> None:
        super().save_content(saving)
        saving.value("windows", self._windows.to_json())

    def load_content(self, saved: Saved) -> None:
        super().load_content(saved)
        self._windows = Windows.from_json(saved.value("windows"))


class _Moments(Learner):
    """State: how many, mean, and sum of squared distances to the mean (Welford's way, which does not cancel)."""

    def __init__(self, settings: OnlineStandardScaler) -> None:
        self._input, self._output = settings.input_col, settings.output_col
        self._with_mean, self._with_std = settings.with_mean, settings.with_std

    def start(self, initial: dict[str, Any] | None) -> Any:
        if initial is None:
            return [0, None, None]
        try:
            count, means = int(initial["count"]), [float(mean) for mean in initial["mean"]]
            squares = [float(std) ** 2 * max(count - 1, 0) for std in initial["std"]]
        except (KeyError, TypeError, ValueError):
            expected = "{'mean': numbers, 'std': numbers, 'count': how many}"
            raise ConfigurationError(f"{_OWNER}: model data is {expected}, got {initial!r}.") from None
        return [count, means, squares]

    def learn(self, state: Any, record: Any) -> Any:
        count, means, squares = state
        vector = dense(field_of(record, self._input, _OWNER), None if means is None else len(means), _OWNER)
        if means is None:
            means, squares = [0.0] * len(vector), [0.0] * len(vector)
        count += 1
        for at, number in enumerate(vector):
            distance = number - means[at]
            means[at] += distance / count
            squares[at] += distance * (number - means[at])
        return [count, means, squares]

    def end_batch(self, state: Any) -> tuple[Any, dict[str, Any]]:
        count, means, squares = state
        std = [math.sqrt(square / (count - 1)) if count > 1 else 0.0 for square in squares]
        return state, {"mean": list(means), "std": std, "count": count}

    def predict(self, data: dict[str, Any], record: Any) -> dict[str, Any]:
        vector = dense(field_of(record, self._input, _OWNER), len(data["mean"]), _OWNER)
        if self._with_mean:
            vector = [number - mean for number, mean in zip(vector, data["mean"], strict=True)]
        if self._with_std:
            # As in MLlib, a feature that never changes becomes 0.
            vector = [number / std if std else 0.0 for number, std in zip(vector, data["std"], strict=True)]
        return {self._output: vector}
