"""Stages that Spark's MLlib carries out: which class of it does the work, and what its models have learned.

A model keeps what it has learned as plain numbers, texts and lists. MLlib's own object is made from them when a
table is to be transformed, so that a stored model depends on neither MLlib's classes nor its files.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.ml.api import AlgoOperator, Estimator, Model, Stage, Table, Transformer
from firesteel.ml.param import WithParams
from firesteel.ml.saving import Saved, Saving

__all__ = ["SparkEstimator", "SparkModel", "SparkTransformer"]

M = TypeVar("M", bound="SparkModel")


class _OnSpark(WithParams):
    """How parameters are called in MLlib, and which columns they name."""

    spark_class: ClassVar[str]
    """The class of MLlib below ``pyspark.ml``."""
    spark_names: ClassVar[dict[str, str | None]] = {}
    """Parameters that are not called as here, only in camel case; None if MLlib does not have them."""
    spark_values: ClassVar[dict[str, dict[Any, Any]]] = {}
    """Values that are not called as here, by parameter."""
    spark_constants: ClassVar[dict[str, Any]] = {}
    """What is always set."""
    reads: ClassVar[tuple[str, ...]] = ("input_col", "input_cols", "features_col", "label_col", "weight_col")
    """The parameters that name columns which must be there."""

    def spark_settings(self) -> dict[str, Any]:
        """The parameters as MLlib takes them."""
        settings: dict[str, Any] = dict(self.spark_constants)
        for param, value in self.get_param_map().items():
            name = self.spark_names.get(param.name, _camel(param.name))
            if name is None or value is None:
                continue
            value = self.spark_values.get(param.name, {}).get(value, value)
            settings[name] = _as_lists(value)
        return settings


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _as_lists(value: Any) -> Any:
    return [_as_lists(each) for each in value] if isinstance(value, tuple) else value


class SparkTransformer(_OnSpark, Transformer):
    """A transformer of MLlib."""

    def transform(self, *inputs: Table) -> list[Table]:
        table = one_table(self, inputs)
        with spark_errors(self):
            return [spark_class(self.spark_class)(**self.spark_settings()).transform(table)]


class SparkModel(_OnSpark, Model):
    """A model of MLlib, made from what it has learned."""

    model_fields: ClassVar[dict[str, str]]
    """What it has learned, with the type of each as Spark's SQL calls it."""

    _learned: dict[str, Any] | None = None

    @classmethod
    def of(cls: type[M], estimator: Stage, learned: dict[str, Any]) -> M:
        """A model with what an estimator has learned, and those of its parameters that the model has too."""
        model = cls()
        model._learned = learned
        mine = model.get_param_map()
        mine.update({param: value for param, value in estimator.get_param_map().items() if param in mine})
        return model

    @property
    def learned(self) -> dict[str, Any]:
        """What the model has learned, by name."""
        if self._learned is None:
            raise ProgramError(
                f"this {type(self).__name__} has learned nothing: fit an estimator, load one, or call set_model_data()."
            )
        return self._learned

    def to_spark(self) -> Any:
        """MLlib's own model."""
        name = self.spark_class
        with spark_errors(self):
            java = new_java(
                f"org.apache.spark.ml.{name}", f"firesteel_{name.rpartition('.')[2]}", *self.java_arguments()
            )
            model = spark_class(name)(java)
            for setting, value in self.spark_settings().items():
                model.set(model.getParam(setting), value)
            return model

    def java_arguments(self) -> tuple[Any, ...]:
        """What the constructor of MLlib's model takes, after its uid."""
        raise NotImplementedError

    def transform(self, *inputs: Table) -> list[Table]:
        table = one_table(self, inputs)
        model = self.to_spark()
        with spark_errors(self):
            return [model.transform(table)]

    def get_model_data(self) -> list[Table]:
        """One table with one row: a column for each thing that was learned."""
        schema = ", ".join(f"{name} {kind}" for name, kind in self.model_fields.items())
        row = tuple(self.learned[name] for name in self.model_fields)
        return [session().createDataFrame([row], schema)]

    def set_model_data(self: M, *inputs: Table) -> M:
        table = one_table(self, inputs, columns=tuple(self.model_fields))
        rows = table.select(*self.model_fields).take(2)
        if len(rows) != 1:
            found = "none" if not rows else "more"
            raise ConfigurationError(f"{type(self).__name__}: model data is a table with one row, got {found}.")
        self._learned = rows[0].asDict(recursive=True)
        return self

    def save_content(self, saving: Saving) -> None:
        saving.data(self.learned)

    def load_content(self, saved: Saved) -> None:
        self._learned = saved.data()


class SparkEstimator(_OnSpark, Estimator):
    """An estimator of MLlib."""

    model_class: ClassVar[type[SparkModel]]

    def fit(self, *inputs: Table) -> Any:
        table = one_table(self, inputs)
        with spark_errors(self):
            fitted = spark_class(self.spark_class)(**self.spark_settings()).fit(table)
            return self.model_class.of(self, self.read(fitted))

    def read(self, fitted: Any) -> dict[str, Any]:
        """What MLlib's model has learned, as plain values."""
        raise NotImplementedError


def one_table(stage: Stage, inputs: Sequence[Table], columns: Sequence[str] | None = None) -> Any:
    """The one DataFrame that a stage takes, with the columns that it reads."""
    from pyspark.sql import DataFrame

    owner = type(stage).__name__
    if len(inputs) != 1:
        raise ConfigurationError(f"{owner} takes one table, got {len(inputs)}.")
    table = inputs[0]
    if not isinstance(table, DataFrame):
        raise ConfigurationError(f"{owner} takes a DataFrame of Spark, got {type(table).__name__}.")
    for column in _columns_read(stage) if columns is None else columns:
        if column not in table.columns:
            there = ", ".join(table.columns) or "none"
            raise ConfigurationError(
                f"{owner} reads the column {column!r}, which the table does not have. It has: {there}."
            )
    features = stage.get_param("features_col")
    if columns is None and features is not None and dict(table.dtypes)[stage.get(features)] != "vector":
        kind = dict(table.dtypes)[stage.get(features)]
        hint = "pyspark.ml.functions.array_to_vector" if kind.startswith("array") else "a VectorAssembler"
        raise ConfigurationError(
            f"{owner} learns from vectors, but the column {stage.get(features)!r} is {kind}. Use {hint} to make them."
        )
    return table


def _columns_read(stage: Stage) -> Iterator[str]:
    for param, value in stage.get_param_map().items():
        if param.name in getattr(stage, "reads", ()):
            value = stage.get(param)  # says what to do if it has to be set and is not
            if value is not None:
                yield from (value,) if isinstance(value, str) else value


@contextmanager
def spark_errors(stage: AlgoOperator | Estimator | Model) -> Iterator[None]:
    """What Spark says is wrong with the input or the settings, with the name of the stage."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise ConfigurationError(f"{stage!r}: {str(error).strip()}") from error
    except Py4JJavaError as error:
        raise ConfigurationError(f"{stage!r}: {_cause(error.java_exception)}") from error


def _cause(exception: Any) -> str:
    """What a failed task has said: the first line, without which task and where."""
    while exception.getCause() is not None:
        exception = exception.getCause()
    text: str = (exception.getMessage() or exception.toString()).splitlines()[0]
    return text.partition("executor driver): ")[2] or text


@functools.cache
def spark_class(name: str) -> Callable[..., Any]:
    """A class of ``pyspark.ml``."""
    try:
        module, _, attribute = f"pyspark.ml.{name}".rpartition(".")
        found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise ConfigurationError(f"this stage needs {error.name}: pip install 'firesteel[ml]'.") from error
    return found


def session() -> Any:
    """The Spark session that there is."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None:
        raise ProgramError("there is no Spark session: make one with SparkSession.builder.getOrCreate().")
    return active


def new_java(name: str, *arguments: Any) -> Any:
    """A new object of a Java class; numbers, texts, vectors and matrices are converted."""
    from pyspark.ml.wrapper import JavaWrapper

    session()
    return JavaWrapper._new_java_obj(name, *arguments)


def java_array(values: Sequence[Any], kind: str) -> Any:
    """A Java array: of ``int``, ``long``, or of a class."""
    gateway = session().sparkContext._gateway
    element = functools.reduce(getattr, kind.split("."), gateway.jvm)
    array = gateway.new_array(element, len(values))
    for at, value in enumerate(values):
        array[at] = value
    return array


def vector(values: Sequence[float]) -> Any:
    """A dense vector of MLlib."""
    from pyspark.ml.linalg import DenseVector

    return DenseVector(values)


def matrix(rows: Sequence[Sequence[float]]) -> Any:
    """A dense matrix of MLlib."""
    from pyspark.ml.linalg import DenseMatrix

    columns = len(rows[0]) if rows else 0
    return DenseMatrix(len(rows), columns, [value for row in rows for value in row], isTransposed=True)


def numbers(values: Any) -> list[float]:
    """A vector as a plain list."""
    return [float(value) for value in values.toArray()]


def number_rows(values: Any) -> list[list[float]]:
    """A matrix as plain lists, one for each row."""
    return [[float(value) for value in row] for row in values.toArray()]


def old_vector(values: Sequence[float]) -> Any:
    """A dense vector of ``org.apache.spark.mllib``, which some models of MLlib are still made of, as a Java object."""
    from pyspark.ml.common import _py2java

    context = session().sparkContext
    return context._jvm.org.apache.spark.mllib.linalg.Vectors.fromML(_py2java(context, vector(values)))
