"""Parameters that several stages share, one class for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.common.warnings import warn_once
from firesteel.ml.param import (
    BooleanParam,
    FloatParam,
    IntParam,
    Param,
    ParamValidators,
    StringArrayParam,
    StringParam,
    WithParams,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class HasFeaturesCol(WithParams):
    """The column of feature vectors."""

    FEATURES_COL: Param[str] = StringParam(
        "features_col", "The column of feature vectors.", "features", ParamValidators.not_null()
    )

    def set_features_col(self, value: str) -> Self:
        """The column of feature vectors."""
        return self.set(self.FEATURES_COL, value)

    def get_features_col(self) -> str:
        """The column of feature vectors."""
        return self.get(self.FEATURES_COL)

    @property
    def features_col(self) -> str:
        """The column of feature vectors."""
        return self.get(self.FEATURES_COL)


class HasLabelCol(WithParams):
    """The column of labels."""

    LABEL_COL: Param[str] = StringParam("label_col", "The column of labels.", "label", ParamValidators.not_null())

    def set_label_col(self, value: str) -> Self:
        """The column of labels."""
        return self.set(self.LABEL_COL, value)

    def get_label_col(self) -> str:
        """The column of labels."""
        return self.get(self.LABEL_COL)

    @property
    def label_col(self) -> str:
        """The column of labels."""
        return self.get(self.LABEL_COL)


class HasPredictionCol(WithParams):
    """The column that predictions are written to."""

    PREDICTION_COL: Param[str] = StringParam(
        "prediction_col", "The column that predictions are written to.", "prediction", ParamValidators.not_null()
    )

    def set_prediction_col(self, value: str) -> Self:
        """The column that predictions are written to."""
        return self.set(self.PREDICTION_COL, value)

    def get_prediction_col(self) -> str:
        """The column that predictions are written to."""
        return self.get(self.PREDICTION_COL)

    @property
    def prediction_col(self) -> str:
        """The column that predictions are written to."""
        return self.get(self.PREDICTION_COL)


class HasRawPredictionCol(WithParams):
    """The column of raw predictions: a number per class."""

    RAW_PREDICTION_COL: Param[str] = StringParam(
        "raw_prediction_col",
        "The column of raw predictions: a number per class.",
        "raw_prediction",
        ParamValidators.not_null(),
    )

    def set_raw_prediction_col(self, value: str) -> Self:
        """The column of raw predictions: a number per class."""
        return self.set(self.RAW_PREDICTION_COL, value)

    def get_raw_prediction_col(self) -> str:
        """The column of raw predictions: a number per class."""
        return self.get(self.RAW_PREDICTION_COL)

    @property
    def raw_prediction_col(self) -> str:
        """The column of raw predictions: a number per class."""
        return self.get(self.RAW_PREDICTION_COL)


class HasWeightCol(WithParams):
    """The column of weights; without one, all rows weigh the same."""

    WEIGHT_COL: Param[str] = StringParam(
        "weight_col", "The column of weights; without one, all rows weigh the same.", None
    )

    def set_weight_col(self, value: str | None) -> Self:
        """The column of weights; without one, all rows weigh the same."""
        return self.set(self.WEIGHT_COL, value)

    def get_weight_col(self) -> str | None:
        """The column of weights; without one, all rows weigh the same."""
        return self.get(self.WEIGHT_COL)

    @property
    def weight_col(self) -> str | None:
        """The column of weights; without one, all rows weigh the same."""
        return self.get(self.WEIGHT_COL)


class HasInputCol(WithParams):
    """The column that is read."""

    INPUT_COL: Param[str] = StringParam("input_col", "The column that is read.", "input", ParamValidators.not_null())

    def set_input_col(self, value: str) -> Self:
        """The column that is read."""
        return self.set(self.INPUT_COL, value)

    def get_input_col(self) -> str:
        """The column that is read."""
        return self.get(self.INPUT_COL)

    @property
    def input_col(self) -> str:
        """The column that is read."""
        return self.get(self.INPUT_COL)


class HasOutputCol(WithParams):
    """The column that is written."""

    OUTPUT_COL: Param[str] = StringParam(
        "output_col", "The column that is written.", "output", ParamValidators.not_null()
    )

    def set_output_col(self, value: str) -> Self:
        """The column that is written."""
        return self.set(self.OUTPUT_COL, value)

    def get_output_col(self) -> str:
        """The column that is written."""
        return self.get(self.OUTPUT_COL)

    @property
    def output_col(self) -> str:
        """The column that is written."""
        return self.get(self.OUTPUT_COL)


class HasInputCols(WithParams):
    """The columns that are read."""

    INPUT_COLS: Param[tuple[str, ...]] = StringArrayParam(
        "input_cols", "The columns that are read.", None, ParamValidators.non_empty_array()
    )

    def set_input_cols(self, *value: str) -> Self:
        """The columns that are read."""
        return self.set(self.INPUT_COLS, value)

    def get_input_cols(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.get(self.INPUT_COLS)

    @property
    def input_cols(self) -> tuple[str, ...]:
        """The columns that are read."""
        return self.get(self.INPUT_COLS)


class HasOutputCols(WithParams):
    """The columns that are written."""

    OUTPUT_COLS: Param[tuple[str, ...]] = StringArrayParam(
        "output_cols", "The columns that are written.", None, ParamValidators.non_empty_array()
    )

    def set_output_cols(self, *value: str) -> Self:
        """The columns that are written."""
        return self.set(self.OUTPUT_COLS, value)

    def get_output_cols(self) -> tuple[str, ...]:
        """The columns that are written."""
        return self.get(self.OUTPUT_COLS)

    @property
    def output_cols(self) -> tuple[str, ...]:
        """The columns that are written."""
        return self.get(self.OUTPUT_COLS)


class HasMaxIter(WithParams):
    """How many iterations there are at most."""

    MAX_ITER: Param[int] = IntParam("max_iter", "How many iterations there are at most.", 20, ParamValidators.gt(0))

    def set_max_iter(self, value: int) -> Self:
        """How many iterations there are at most."""
        return self.set(self.MAX_ITER, value)

    def get_max_iter(self) -> int:
        """How many iterations there are at most."""
        return self.get(self.MAX_ITER)

    @property
    def max_iter(self) -> int:
        """How many iterations there are at most."""
        return self.get(self.MAX_ITER)


class HasReg(WithParams):
    """How much large coefficients cost."""

    REG: Param[float] = FloatParam("reg", "How much large coefficients cost.", 0.0, ParamValidators.gt_eq(0))

    def set_reg(self, value: float) -> Self:
        """How much large coefficients cost."""
        return self.set(self.REG, value)

    def get_reg(self) -> float:
        """How much large coefficients cost."""
        return self.get(self.REG)

    @property
    def reg(self) -> float:
        """How much large coefficients cost."""
        return self.get(self.REG)


class HasElasticNet(WithParams):
    """The share of the absolute values (L1) in the cost; the rest are squares (L2)."""

    ELASTIC_NET: Param[float] = FloatParam(
        "elastic_net",
        "The share of the absolute values (L1) in the cost; the rest are squares (L2).",
        0.0,
        ParamValidators.in_range(0.0, 1.0),
    )

    def set_elastic_net(self, value: float) -> Self:
        """The share of the absolute values (L1) in the cost; the rest are squares (L2)."""
        return self.set(self.ELASTIC_NET, value)

    def get_elastic_net(self) -> float:
        """The share of the absolute values (L1) in the cost; the rest are squares (L2)."""
        return self.get(self.ELASTIC_NET)

    @property
    def elastic_net(self) -> float:
        """The share of the absolute values (L1) in the cost; the rest are squares (L2)."""
        return self.get(self.ELASTIC_NET)


class HasTol(WithParams):
    """The change at which iterations end."""

    TOL: Param[float] = FloatParam("tol", "The change at which iterations end.", 1e-06, ParamValidators.gt_eq(0))

    def set_tol(self, value: float) -> Self:
        """The change at which iterations end."""
        return self.set(self.TOL, value)

    def get_tol(self) -> float:
        """The change at which iterations end."""
        return self.get(self.TOL)

    @property
    def tol(self) -> float:
        """The change at which iterations end."""
        return self.get(self.TOL)


class HasMultiClass(WithParams):
    """Two classes (binomial), any number (multinomial), or what the labels ask for (auto)."""

    MULTI_CLASS: Param[str] = StringParam(
        "multi_class",
        "Two classes (binomial), any number (multinomial), or what the labels ask for (auto).",
        "auto",
        ParamValidators.in_array(["auto", "binomial", "multinomial"]),
    )

    def set_multi_class(self, value: str) -> Self:
        """Two classes (binomial), any number (multinomial), or what the labels ask for (auto)."""
        return self.set(self.MULTI_CLASS, value)

    def get_multi_class(self) -> str:
        """Two classes (binomial), any number (multinomial), or what the labels ask for (auto)."""
        return self.get(self.MULTI_CLASS)

    @property
    def multi_class(self) -> str:
        """Two classes (binomial), any number (multinomial), or what the labels ask for (auto)."""
        return self.get(self.MULTI_CLASS)


class HasFitIntercept(WithParams):
    """Whether there is a constant term. Flink ML has none: False is what it does."""

    FIT_INTERCEPT: Param[bool] = BooleanParam(
        "fit_intercept", "Whether there is a constant term. Flink ML has none: False is what it does.", True
    )

    def set_fit_intercept(self, value: bool) -> Self:
        """Whether there is a constant term. Flink ML has none: False is what it does."""
        return self.set(self.FIT_INTERCEPT, value)

    def get_fit_intercept(self) -> bool:
        """Whether there is a constant term. Flink ML has none: False is what it does."""
        return self.get(self.FIT_INTERCEPT)

    @property
    def fit_intercept(self) -> bool:
        """Whether there is a constant term. Flink ML has none: False is what it does."""
        return self.get(self.FIT_INTERCEPT)


class HasSeed(WithParams):
    """Where randomness starts; the same seed gives the same result on the same partitions."""

    SEED: Param[int] = IntParam(
        "seed", "Where randomness starts; the same seed gives the same result on the same partitions.", None
    )

    def set_seed(self, value: int | None) -> Self:
        """Where randomness starts; the same seed gives the same result on the same partitions."""
        return self.set(self.SEED, value)

    def get_seed(self) -> int | None:
        """Where randomness starts; the same seed gives the same result on the same partitions."""
        return self.get(self.SEED)

    @property
    def seed(self) -> int | None:
        """Where randomness starts; the same seed gives the same result on the same partitions."""
        return self.get(self.SEED)


class HasDistanceMeasure(WithParams):
    """How far apart two vectors are."""

    DISTANCE_MEASURE: Param[str] = StringParam(
        "distance_measure",
        "How far apart two vectors are.",
        "euclidean",
        ParamValidators.in_array(["euclidean", "cosine"]),
    )

    def set_distance_measure(self, value: str) -> Self:
        """How far apart two vectors are."""
        return self.set(self.DISTANCE_MEASURE, value)

    def get_distance_measure(self) -> str:
        """How far apart two vectors are."""
        return self.get(self.DISTANCE_MEASURE)

    @property
    def distance_measure(self) -> str:
        """How far apart two vectors are."""
        return self.get(self.DISTANCE_MEASURE)


class HasNumFeatures(WithParams):
    """The length of the vectors that are made."""

    NUM_FEATURES: Param[int] = IntParam(
        "num_features", "The length of the vectors that are made.", 262144, ParamValidators.gt(0)
    )

    def set_num_features(self, value: int) -> Self:
        """The length of the vectors that are made."""
        return self.set(self.NUM_FEATURES, value)

    def get_num_features(self) -> int:
        """The length of the vectors that are made."""
        return self.get(self.NUM_FEATURES)

    @property
    def num_features(self) -> int:
        """The length of the vectors that are made."""
        return self.get(self.NUM_FEATURES)


class HasRelativeError(WithParams):
    """How exact approximate quantiles are; 0 is exact."""

    RELATIVE_ERROR: Param[float] = FloatParam(
        "relative_error", "How exact approximate quantiles are; 0 is exact.", 0.001, ParamValidators.in_range(0.0, 1.0)
    )

    def set_relative_error(self, value: float) -> Self:
        """How exact approximate quantiles are; 0 is exact."""
        return self.set(self.RELATIVE_ERROR, value)

    def get_relative_error(self) -> float:
        """How exact approximate quantiles are; 0 is exact."""
        return self.get(self.RELATIVE_ERROR)

    @property
    def relative_error(self) -> float:
        """How exact approximate quantiles are; 0 is exact."""
        return self.get(self.RELATIVE_ERROR)


class HasGlobalBatchSize(WithParams):
    """How many records of training make a version of the model."""

    GLOBAL_BATCH_SIZE: Param[int] = IntParam(
        "global_batch_size", "How many records of training make a version of the model.", 32, ParamValidators.gt(0)
    )

    def set_global_batch_size(self, value: int) -> Self:
        """How many records of training make a version of the model."""
        return self.set(self.GLOBAL_BATCH_SIZE, value)

    def get_global_batch_size(self) -> int:
        """How many records of training make a version of the model."""
        return self.get(self.GLOBAL_BATCH_SIZE)

    @property
    def global_batch_size(self) -> int:
        """How many records of training make a version of the model."""
        return self.get(self.GLOBAL_BATCH_SIZE)


class HasDecayFactor(WithParams):
    """How much of what was learned before still counts after each batch."""

    DECAY_FACTOR: Param[float] = FloatParam(
        "decay_factor",
        "How much of what was learned before still counts after each batch.",
        0.0,
        ParamValidators.in_range(0.0, 1.0),
    )

    def set_decay_factor(self, value: float) -> Self:
        """How much of what was learned before still counts after each batch."""
        return self.set(self.DECAY_FACTOR, value)

    def get_decay_factor(self) -> float:
        """How much of what was learned before still counts after each batch."""
        return self.get(self.DECAY_FACTOR)

    @property
    def decay_factor(self) -> float:
        """How much of what was learned before still counts after each batch."""
        return self.get(self.DECAY_FACTOR)


class HasModelVersionCol(WithParams):
    """The field that the model's version is written to."""

    MODEL_VERSION_COL: Param[str] = StringParam(
        "model_version_col",
        "The field that the model's version is written to.",
        "model_version",
        ParamValidators.not_null(),
    )

    def set_model_version_col(self, value: str) -> Self:
        """The field that the model's version is written to."""
        return self.set(self.MODEL_VERSION_COL, value)

    def get_model_version_col(self) -> str:
        """The field that the model's version is written to."""
        return self.get(self.MODEL_VERSION_COL)

    @property
    def model_version_col(self) -> str:
        """The field that the model's version is written to."""
        return self.get(self.MODEL_VERSION_COL)


class HasHandleInvalid(WithParams):
    """What is done with a value that has no meaning: ``error``, ``skip`` (its row is left out) or ``keep``."""

    HANDLE_INVALID: Param[str] = StringParam(
        "handle_invalid",
        "What is done with invalid values.",
        "error",
        ParamValidators.in_array(["error", "skip", "keep"]),
    )

    def set_handle_invalid(self, value: str) -> Self:
        """What is done with invalid values: error, skip, or keep."""
        return self.set(self.HANDLE_INVALID, value)

    def get_handle_invalid(self) -> str:
        """What is done with invalid values: error, skip, or keep."""
        return self.get(self.HANDLE_INVALID)

    @property
    def handle_invalid(self) -> str:
        """What is done with invalid values: error, skip, or keep."""
        return self.get(self.HANDLE_INVALID)


class OptimizedBySpark(WithParams):
    """Settings of Flink's gradient descent. Spark's optimizers choose their steps themselves: these have no effect."""

    def set_learning_rate(self, value: float) -> Self:
        """No effect: Spark's optimizer chooses its steps. Warns once."""
        return self._without_effect("set_learning_rate", value)

    def set_global_batch_size(self, value: int) -> Self:
        """No effect: Spark's optimizer looks at all rows in each iteration. Warns once."""
        return self._without_effect("set_global_batch_size", value)

    def _without_effect(self, name: str, value: float) -> Self:
        warn_once(
            f"firesteel.ml {name}",
            f"{type(self).__name__}.{name}({value!r}) has no effect: Spark's optimizer looks at all rows in each "
            "iteration and chooses its steps itself. Leave it out.",
        )
        return self
