"""Stages put together: in a line (:class:`Pipeline`), or in a graph (:class:`GraphBuilder`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.errors import ProgramError
from firesteel.ml.api import AlgoOperator, Estimator, Model, Stage, Table
from firesteel.ml.graph import Graph, GraphBuilder, GraphModel, TableId
from firesteel.ml.saving import Saved, Saving

__all__ = ["Graph", "GraphBuilder", "GraphModel", "Pipeline", "PipelineModel", "TableId"]


class PipelineModel(Model):
    """Stages that have learned, one after the other: the output of each is the input of the next.

    :param stages: Models, transformers and other operators, first to last.
    """

    def __init__(self, stages: Sequence[Stage] = ()) -> None:
        self._stages = _checked(self, stages, AlgoOperator, "an AlgoOperator, Transformer or Model")

    @property
    def stages(self) -> list[Any]:
        """The stages, first to last."""
        return list(self._stages)

    def transform(self, *inputs: Table) -> list[Table]:
        tables = list(inputs)
        for stage in self._stages:
            tables = stage.transform(*tables)  # type: ignore[attr-defined]
        return tables

    def save_content(self, saving: Saving) -> None:
        saving.stages(self._stages)

    def load_content(self, saved: Saved) -> None:
        self._stages = saved.stages()


class Pipeline(Estimator):
    """Stages one after the other, some of which have to learn. Learning gives a :class:`PipelineModel`.

    ::

        Pipeline([StandardScaler().set_input_col("raw").set_output_col("features"), LogisticRegression()]).fit(table)

    :param stages: Stages of any kind, first to last.
    """

    def __init__(self, stages: Sequence[Stage] = ()) -> None:
        self._stages = _checked(self, stages, Stage, "a stage")

    @property
    def stages(self) -> list[Any]:
        """The stages, first to last."""
        return list(self._stages)

    def fit(self, *inputs: Table) -> PipelineModel:
        """Fit each estimator on what the stages before it make of the input. No stage runs after the last estimator."""
        last = max((at for at, stage in enumerate(self._stages) if isinstance(stage, Estimator)), default=-1)
        tables, fitted = list(inputs), []
        for at, stage in enumerate(self._stages):
            model = stage.fit(*tables) if isinstance(stage, Estimator) else stage
            fitted.append(model)
            if at < last:
                tables = model.transform(*tables)  # type: ignore[attr-defined]
        return PipelineModel(fitted)

    def save_content(self, saving: Saving) -> None:
        saving.stages(self._stages)

    def load_content(self, saved: Saved) -> None:
        self._stages = saved.stages()


def _checked(owner: Stage, stages: Sequence[Stage], kind: type[Stage], expected: str) -> list[Stage]:
    for at, stage in enumerate(stages):
        if not isinstance(stage, kind):
            raise ProgramError(f"{type(owner).__name__}: stage {at} is {stage!r}, which is not {expected}.")
    return list(stages)
