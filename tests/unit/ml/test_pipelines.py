"""Pipelines and graphs of stages, and how they are stored: on stages that work on plain lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from firesteel.errors import ConfigurationError, ProgramError, UnsupportedError
from firesteel.ml import (
    AlgoOperator,
    Estimator,
    GraphBuilder,
    GraphModel,
    Model,
    Pipeline,
    PipelineModel,
    Stage,
    Transformer,
)
from firesteel.ml.api import Table
from firesteel.ml.feature import StandardScaler, StandardScalerModel
from firesteel.ml.param import IntParam, WithParams
from firesteel.ml.saving import Saved, Saving


class HasFactor(WithParams):
    FACTOR = IntParam("factor", "How much.", 1)


class Times(Transformer, HasFactor):
    def transform(self, *inputs: Table) -> list[Table]:
        return [[value * self.get(self.FACTOR) for value in table] for table in inputs]


class SumModel(Model, HasFactor):
    total = 0

    def transform(self, *inputs: Table) -> list[Table]:
        return [[value + self.total * self.get(self.FACTOR) for value in table] for table in inputs]

    def set_model_data(self, *inputs: Table) -> SumModel:
        [[self.total]] = inputs
        return self

    def get_model_data(self) -> list[Table]:
        return [[self.total]]

    def save_content(self, saving: Saving) -> None:
        saving.data({"total": self.total})

    def load_content(self, saved: Saved) -> None:
        self.total = saved.data()["total"]


class SumEstimator(Estimator, HasFactor):
    fits = 0

    def fit(self, *inputs: Table) -> SumModel:
        SumEstimator.fits += 1
        model = SumModel().set(self.FACTOR, self.get(self.FACTOR))
        return model.set_model_data([sum(map(sum, inputs))])


class Both(AlgoOperator):
    def transform(self, *inputs: Table) -> list[Table]:
        return [[value for table in inputs for value in table]]


def times(factor: int) -> Times:
    return Times().set(Times.FACTOR, factor)


def test_a_pipeline_fits_each_estimator_on_what_the_stages_before_it_made() -> None:
    pipeline = Pipeline([times(2), SumEstimator(), times(10), SumEstimator(), times(3)])
    model = pipeline.fit([1, 2])
    # 2, 4 -> sum 6: 8, 10 -> 80, 100 -> sum 180: 260, 280 -> 780, 840
    assert model.transform([1, 2]) == [[780, 840]]
    assert [type(stage) for stage in model.stages] == [Times, SumModel, Times, SumModel, Times]


def test_pipelines_without_estimators_and_within_pipelines() -> None:
    assert Pipeline([times(2)]).fit([1]).transform([3]) == [[6]]
    assert Pipeline([]).fit([1]).transform([3]) == [[3]]
    inner = Pipeline([SumEstimator(), times(2)])
    assert Pipeline([inner, times(10)]).fit([1, 2]).transform([1]) == [[80]]


@pytest.mark.parametrize("stages", [[1], [times(1), "x"]])
def test_what_is_no_stage_is_refused(stages: list[Any]) -> None:
    with pytest.raises(ProgramError, match=f"Pipeline: stage {len(stages) - 1} is .* not a stage"):
        Pipeline(stages)
    with pytest.raises(ProgramError, match="PipelineModel: stage 0 is SumEstimator"):
        PipelineModel([SumEstimator()])


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    pipeline = Pipeline([times(2), SumEstimator().set(SumEstimator.FACTOR, 5)])
    pipeline.save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit([1, 2])
    model.save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert loaded.transform([1]) == model.transform([1]) == [[32]]
    Pipeline([loaded]).save(str(tmp_path / "nested"))
    assert Pipeline.load(str(tmp_path / "nested")).fit([0]).transform([1]) == [[32]]


def test_the_format_is_plain_json_and_parquet(tmp_path: Path) -> None:
    Pipeline([times(2)]).fit([1]).save(str(tmp_path / "model"))
    metadata = json.loads((tmp_path / "model" / "metadata.json").read_text())
    assert metadata == {"format": "firesteel.ml", "version": 1, "stage": "PipelineModel", "params": {}, "stages": 1}
    stage = json.loads((tmp_path / "model" / "stages" / "0" / "metadata.json").read_text())
    assert stage["stage"].endswith("test_pipelines:Times")
    assert stage["params"] == {"factor": 2}


def test_what_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no saved stage"):
        Stage.load(str(tmp_path / "nothing"))
    times(2).save(str(tmp_path / "times"))
    with pytest.raises(ConfigurationError, match="holds a saved stage already"):
        times(3).save(str(tmp_path / "times"))
    with pytest.raises(ProgramError, match="holds a Times, not a Pipeline"):
        Pipeline.load(str(tmp_path / "times"))
    with pytest.raises(ConfigurationError, match="path is a directory"):
        Stage.load("")
    file = tmp_path / "times" / "metadata.json"
    written = json.loads(file.read_text())
    for changed, message in [
        ({"version": 2}, "has version 2 of the format; this Firesteel reads 1"),
        ({"format": "other"}, "was not written by firesteel.ml"),
        ({"stage": "Dreamer"}, "there is no stage 'Dreamer'"),
        ({"stage": "json:JSONDecoder"}, "is a JSONDecoder of json, which is not there: it is not a stage"),
        ({"stage": "no_such_module:X"}, "No module named 'no_such_module'"),
        ({"params": {"colour": 1}}, "has a parameter 'colour', which the class does not have"),
    ]:
        file.write_text(json.dumps({**written, **changed}))
        with pytest.raises(ConfigurationError, match=message):
            Stage.load(str(tmp_path / "times"))
    file.write_text("{")
    with pytest.raises(ConfigurationError, match=r"metadata.json is not JSON"):
        Stage.load(str(tmp_path / "times"))


def test_a_model_without_its_data_says_so(tmp_path: Path) -> None:
    SumEstimator().fit([1]).save(str(tmp_path / "model"))
    (tmp_path / "model" / "data" / "model.parquet").unlink()
    with pytest.raises(ConfigurationError, match=r"model.parquet is missing"):
        Stage.load(str(tmp_path / "model"))


def test_a_stage_of_a_function_cannot_be_saved(tmp_path: Path) -> None:
    class Inner(Times):
        pass

    with pytest.raises(ProgramError, match="Move it to a module"):
        Inner().save(str(tmp_path / "inner"))


def test_stages_of_firesteel_are_stored_without_spark(tmp_path: Path) -> None:
    StandardScaler().set_with_mean(True).save(str(tmp_path / "scaler"))
    assert StandardScaler.load(str(tmp_path / "scaler")).get_with_mean() is True
    model = StandardScalerModel.of(StandardScaler().set_input_col("x"), {"mean": [1.0], "std": [2.0]})
    model.save(str(tmp_path / "model"))
    loaded = StandardScalerModel.load(str(tmp_path / "model"))
    assert (loaded.learned, loaded.input_col) == ({"mean": [1.0], "std": [2.0]}, "x")


def test_a_model_without_model_data_says_so() -> None:
    with pytest.raises(UnsupportedError, match="PipelineModel has no model data of its own"):
        PipelineModel([]).get_model_data()


def test_a_graph_joins_branches() -> None:
    builder = GraphBuilder()
    source = builder.create_table_id()
    doubled = builder.add_algo_operator(times(2), source)[0]
    estimator = SumEstimator()
    summed = builder.add_estimator(estimator, doubled)[0]
    joined = builder.add_algo_operator(Both(), source, summed)[0]
    graph = builder.build_estimator([source], [joined, doubled])
    model = graph.fit([1, 2])
    assert model.transform([5]) == [[5, 16], [10]]


def test_a_graph_runs_stages_in_the_order_of_their_tables(tmp_path: Path) -> None:
    builder = GraphBuilder().set_max_output_table_num(1)
    source, middle = builder.create_table_id(), builder.create_table_id()
    [last] = builder.add_estimator(SumEstimator(), middle)
    [made] = builder.add_algo_operator(times(3), source)
    builder._nodes[1].outputs[:] = [middle]  # what is added second makes what the first reads
    assert made != middle
    graph = builder.build_estimator([source], [last])
    graph.save(str(tmp_path / "graph"))
    model = Stage.load(str(tmp_path / "graph")).fit([1, 2])  # type: ignore[attr-defined]
    model.save(str(tmp_path / "model"))
    assert GraphModel.load(str(tmp_path / "model")).transform([1]) == [[12]]


def test_a_graph_passes_model_data_on() -> None:
    builder = GraphBuilder()
    source, given = builder.create_table_id(), builder.create_table_id()
    teacher, pupil, third = SumEstimator(), SumModel(), SumModel()
    builder.add_estimator(teacher, source)
    data = builder.get_model_data_from_estimator(teacher)[0]
    predicted = builder.add_algo_operator(pupil, source)[0]
    builder.set_model_data_on_model(pupil, data)
    other = builder.add_algo_operator(third, source)[0]
    builder.set_model_data_on_model(third, given)
    model = builder.build_model([source], [predicted, other], [given])
    with pytest.raises(ProgramError, match="has no model data yet"):
        model.transform([1, 2])
    with pytest.raises(ConfigurationError, match="takes model data of 1 tables, got 0"):
        model.set_model_data()
    assert model.set_model_data([100]).transform([1, 2]) == [[4, 5], [101, 102]]


def test_an_operator_made_of_a_graph_learns_whenever_it_runs() -> None:
    builder = GraphBuilder()
    source = builder.create_table_id()
    operator = builder.build_algo_operator([source], [builder.add_estimator(SumEstimator(), source)[0]])
    before = SumEstimator.fits
    assert (operator.transform([1]), operator.transform([2])) == ([[2]], [[4]])
    assert SumEstimator.fits == before + 2


def test_graphs_that_cannot_run_say_why() -> None:
    builder = GraphBuilder()
    source, nothing = builder.create_table_id(), builder.create_table_id()
    stage = times(2)
    builder.add_algo_operator(stage, nothing)
    with pytest.raises(
        ProgramError, match=r"cannot run Times\(factor=2\): nothing makes its tables \[TableId\(table_id=1\)"
    ):
        builder.build_model([source], [source]).transform([1])
    with pytest.raises(ConfigurationError, match=r"GraphModel.transform takes 1 tables, got 2"):
        builder.build_model([source], [source]).transform([1], [2])
    with pytest.raises(ConfigurationError, match="is in the graph already"):
        builder.add_algo_operator(stage, source)
    with pytest.raises(ConfigurationError, match="takes an AlgoOperator, got SumEstimator"):
        builder.add_algo_operator(SumEstimator(), source)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="takes an Estimator, got Times"):
        builder.add_estimator(times(1), source)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="given as TableId, got 'x'"):
        builder.add_algo_operator(times(1), "x")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="has not been added to the graph as Model"):
        builder.get_model_data_from_model(SumModel())
    with pytest.raises(ProgramError, match=r"no stage of the graph makes the tables \[TableId\(table_id=999\)\]"):
        other = GraphBuilder()
        given = other.create_table_id()
        other.build_model([given], [type(given)(999)]).transform([1])
