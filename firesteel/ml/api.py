"""What pipelines and graphs are made of: stages.

A table is a DataFrame of Spark; the online stages take and give streams (:class:`firesteel.datastream.DataStream`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from firesteel.errors import ProgramError, UnsupportedError
from firesteel.ml.param import WithParams
from firesteel.ml.saving import Saved, Saving, load_stage, save_stage

__all__ = ["AlgoOperator", "Estimator", "Model", "Stage", "Table", "Transformer"]

Table = Any
"""A DataFrame of Spark, or a DataStream where a stage is online."""

S = TypeVar("S", bound="Stage")


class Stage(WithParams, ABC):
    """A node of a pipeline or graph: an :class:`Estimator`, :class:`AlgoOperator`, :class:`Transformer` or
    :class:`Model`.

    A stage can be made without arguments: that is how it is loaded.
    """

    def save(self, path: str) -> None:
        """Write the stage to a directory, which must not hold one already: a path, or a URI that pyarrow knows.

        ``metadata.json`` says which stage it is and with which parameters, ``data`` is its model data.
        """
        save_stage(self, path)

    @classmethod
    def load(cls: type[S], path: str) -> S:
        """The stage that was saved in a directory. Asked for on a class, it has to be one of that class."""
        stage = load_stage(path)
        if not isinstance(stage, cls):
            raise ProgramError(
                f"{path} holds a {type(stage).__name__}, not a {cls.__name__}. "
                f"Load it with {type(stage).__name__}.load(...)."
            )
        return stage

    def save_content(self, saving: Saving) -> None:
        """Write what the stage is beside its parameters; override it together with :meth:`load_content`."""

    def load_content(self, saved: Saved) -> None:
        """Read what :meth:`save_content` has written, into a stage that was made without arguments."""

    def __repr__(self) -> str:
        changed = [
            f"{param.name}={value!r}" for param, value in self.get_param_map().items() if value != param.default_value
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class AlgoOperator(Stage):
    """Computes tables from tables."""

    @abstractmethod
    def transform(self, *inputs: Table) -> list[Table]:
        """The resulting tables."""


class Transformer(AlgoOperator):
    """An :class:`AlgoOperator` whose output has a row for a row of the input."""


class Model(Transformer):
    """A :class:`Transformer` that has learned: :meth:`Estimator.fit` returns it."""

    def set_model_data(self, *inputs: Table) -> Model:
        """Take over what another model has learned.

        :return: This model.
        """
        raise UnsupportedError(f"{type(self).__name__} takes no model data: fit an estimator, or load a model.")

    def get_model_data(self) -> list[Table]:
        """What the model has learned, as tables; of an online model, the stream of its versions."""
        raise UnsupportedError(f"{type(self).__name__} has no model data of its own: ask its stages.")


class Estimator(Stage):
    """Learns from tables."""

    @abstractmethod
    def fit(self, *inputs: Table) -> Model:
        """Learn from the tables; the model that results has this estimator's parameters."""
