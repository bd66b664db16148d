"""Stages on Spark's MLlib: the same results as MLlib's own classes and scikit-learn's, before and after saving."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml import classification as spark_classification
from pyspark.ml import clustering as spark_clustering
from pyspark.ml import evaluation as spark_evaluation
from pyspark.ml import feature as spark_feature
from pyspark.ml import regression as spark_regression
from pyspark.ml.linalg import Vectors as SparkVectors
from pyspark.sql import DataFrame, SparkSession

from firesteel.errors import ConfigurationError, ProgramError
from firesteel.ml import GraphBuilder, Pipeline, PipelineModel, Stage, Vectors
from firesteel.ml.classification import Knn, LinearSVC, LogisticRegression, NaiveBayes
from firesteel.ml.clustering import KMeans
from firesteel.ml.evaluation import (
    BinaryClassificationEvaluator,
    ClusteringEvaluator,
    MulticlassClassificationEvaluator,
    RegressionEvaluator,
)
from firesteel.ml.feature import (
    IDF,
    Bucketizer,
    HashingTF,
    IndexToStringModel,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RegexTokenizer,
    RobustScaler,
    StandardScaler,
    StringIndexer,
    StringIndexerModel,
    Tokenizer,
    VectorAssembler,
)
from firesteel.ml.regression import LinearRegression

IO = {"inputCol": "features", "outputCol": "out"}


def rows(count: int = 100) -> list[tuple[Any, float, float, str, str, float]]:
    chance = random.Random(7)
    made = []
    for number in range(count):
        label = float(number % 3 == 0)
        values = [chance.gauss(label * 1.5, 1), abs(chance.gauss(3, 2)), float(number % 5)]
        city = chance.choice(["Oslo", "Rome", "Rome", "Bern", "Bern", "Bern"])
        text = f"to be or not {city} {number % 4}"
        made.append((Vectors.dense(values), label, 2 * values[0] - values[1] + 1, city, text, values[1]))
    return made


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> DataFrame:
    names = ["features", "label", "target", "city", "text", "number"]
    made: DataFrame = spark.createDataFrame(rows(), names).coalesce(1).cache()
    return made


def plain(value: Any) -> Any:
    if hasattr(value, "toArray"):
        return [round(float(each), 9) for each in value.toArray()]
    return round(value, 9) if isinstance(value, float) else value


def column(frame: DataFrame, name: str) -> list[Any]:
    return [plain(row[0]) for row in frame.select(name).collect()]


def io(stage: Any, source: str = "features") -> Any:
    return stage.set_input_col(source).set_output_col("out")


CITY = {"inputCols": ["city"], "outputCols": ["out"]}
SPLITS = [-float("inf"), 1.0, 2.0, float("inf")]

CASES: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
    "standard scaler": (
        lambda: io(StandardScaler()).set_with_mean(True),
        lambda: spark_feature.StandardScaler(withMean=True, **IO),
        "out",
    ),
    "min-max scaler": (
        lambda: io(MinMaxScaler()).set_min(-1).set_max(1),
        lambda: spark_feature.MinMaxScaler(min=-1.0, max=1.0, **IO),
        "out",
    ),
    "max-abs scaler": (lambda: io(MaxAbsScaler()), lambda: spark_feature.MaxAbsScaler(**IO), "out"),
    "robust scaler": (
        lambda: io(RobustScaler()).set_with_centering(True).set_lower(0.1),
        lambda: spark_feature.RobustScaler(withCentering=True, lower=0.1, **IO),
        "out",
    ),
    "string indexer": (
        lambda: StringIndexer().set_input_cols("city").set_output_cols("out"),
        lambda: spark_feature.StringIndexer(**CITY),
        "out",
    ),
    "tokenizer": (
        lambda: io(Tokenizer(), "text"),
        lambda: spark_feature.Tokenizer(inputCol="text", outputCol="out"),
        "out",
    ),
    "regex tokenizer": (
        lambda: io(RegexTokenizer(), "text").set_pattern("[A-Z]\\w+").set_gaps(False).set_to_lowercase(False),
        lambda: spark_feature.RegexTokenizer(
            inputCol="text", outputCol="out", pattern="[A-Z]\\w+", gaps=False, toLowercase=False
        ),
        "out",
    ),
    "vector assembler": (
        lambda: VectorAssembler().set_input_cols("number", "features").set_output_col("out"),
        lambda: spark_feature.VectorAssembler(inputCols=["number", "features"], outputCol="out"),
        "out",
    ),
    "bucketizer": (
        lambda: Bucketizer().set_input_cols("number").set_output_cols("out").set_splits_array([SPLITS]),
        lambda: spark_feature.Bucketizer(inputCols=["number"], outputCols=["out"], splitsArray=[SPLITS]),
        "out",
    ),
    "logistic regression": (
        lambda: LogisticRegression().set_reg(0.01).set_elastic_net(0.5).set_max_iter(3),
        lambda: spark_classification.LogisticRegression(regParam=0.01, elasticNetParam=0.5, maxIter=3),
        "prediction",
    ),
    "multinomial logistic regression": (
        lambda: LogisticRegression().set_multi_class("multinomial").set_max_iter(3),
        lambda: spark_classification.LogisticRegression(family="multinomial", maxIter=3),
        "prediction",
    ),
    "linear SVC": (
        lambda: LinearSVC().set_reg(0.01).set_max_iter(3),
        lambda: spark_classification.LinearSVC(regParam=0.01, maxIter=3),
        "prediction",
    ),
    "gaussian naive Bayes": (
        lambda: NaiveBayes().set_model_type("gaussian"),
        lambda: spark_classification.NaiveBayes(modelType="gaussian"),
        "prediction",
    ),
    "linear regression": (
        lambda: LinearRegression().set_label_col("target").set_reg(0.1),
        lambda: spark_regression.LinearRegression(labelCol="target", regParam=0.1, maxIter=20),
        "prediction",
    ),
    "k-means": (
        lambda: KMeans().set_k(3).set_seed(1).set_max_iter(3),
        lambda: spark_clustering.KMeans(k=3, seed=1, initMode="random", tol=1e-6, maxIter=3),
        "prediction",
    ),
}


@pytest.mark.feature("ML-01")
@pytest.mark.parametrize("name", CASES)
def test_a_stage_does_what_mllib_does_and_so_does_what_is_loaded(name: str, table: DataFrame, tmp_path: Path) -> None:
    make, make_theirs, output = CASES[name]
    ours, theirs = make(), make_theirs()
    expected = column((theirs.fit(table) if hasattr(theirs, "fit") else theirs).transform(table), output)
    model = ours.fit(table) if hasattr(ours, "fit") else ours
    [result] = model.transform(table)
    assert column(result, output) == expected
    model.save(str(tmp_path / "model"))
    loaded = type(model).load(str(tmp_path / "model"))
    assert column(loaded.transform(table)[0], output) == expected
    assert loaded.get_param_map() == model.get_param_map()


@pytest.mark.feature("ML-01")
def test_scaler_and_logistic_regression_in_a_pipeline(table: DataFrame, tmp_path: Path) -> None:
    scaler = io(StandardScaler())
    classifier = LogisticRegression().set_features_col("out").set_max_iter(5)
    pipeline = Pipeline([scaler, classifier])
    pipeline.save(str(tmp_path / "pipeline"))
    model = Pipeline.load(str(tmp_path / "pipeline")).fit(table)
    [result] = model.transform(table)
    labels, predictions = np.array(column(result, "label")), np.array(column(result, "prediction"))
    assert (labels == predictions).mean() > 0.75
    model.save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert [type(stage).__name__ for stage in loaded.stages] == ["StandardScalerModel", "LogisticRegressionModel"]
    assert column(loaded.transform(table)[0], "raw_prediction") == column(result, "raw_prediction")
    metadata = json.loads((tmp_path / "model" / "stages" / "1" / "metadata.json").read_text())
    assert (metadata["format"], metadata["version"], metadata["stage"]) == (
        "firesteel.ml",
        1,
        "LogisticRegressionModel",
    )


def test_texts_become_weighted_counts(table: DataFrame, tmp_path: Path) -> None:
    words, counts = io(Tokenizer(), "text").set_output_col("words"), io(HashingTF(), "words").set_output_col("counts")
    model = Pipeline([words, counts.set_num_features(64), io(IDF(), "counts").set_min_doc_freq(5)]).fit(table)
    tokens = spark_feature.Tokenizer(inputCol="text", outputCol="words").transform(table)
    theirs = spark_feature.HashingTF(inputCol="words", outputCol="counts", numFeatures=64).transform(tokens)
    expected = spark_feature.IDF(inputCol="counts", outputCol="out", minDocFreq=5).fit(theirs).transform(theirs)
    model.save(str(tmp_path / "model"))
    [result] = PipelineModel.load(str(tmp_path / "model")).transform(table)
    assert column(result, "out") == column(expected, "out")


def test_texts_become_numbers_vectors_and_texts_again(table: DataFrame) -> None:
    indexer = StringIndexer().set_input_cols("city", "text").set_output_cols("index", "text_index")
    model = indexer.set_string_order_type("alphabetAsc").fit(table)
    [indexed] = model.transform(table)
    assert set(zip(column(indexed, "city"), column(indexed, "index"))) == {("Bern", 0), ("Oslo", 1), ("Rome", 2)}
    encoder = OneHotEncoder().set_input_cols("index").set_output_cols("out")
    [encoded] = encoder.fit(indexed).transform(indexed)
    theirs = spark_feature.OneHotEncoder(inputCols=["index"], outputCols=["out"]).fit(indexed).transform(indexed)
    assert column(encoded, "out") == column(theirs, "out")
    back = IndexToStringModel().set_model_data(*model.get_model_data())
    back.set_input_cols("index", "text_index").set_output_cols("city_again", "text_again")
    [texts] = back.transform(indexed)
    assert column(texts, "city_again") == column(table, "city")
    assert column(texts, "text_again") == column(table, "text")


def test_neighbours_are_those_of_scikit_learn(table: DataFrame, tmp_path: Path) -> None:
    neighbors = pytest.importorskip("sklearn.neighbors")
    features, labels = np.array(column(table, "features")), np.array(column(table, "label"))
    expected = neighbors.KNeighborsClassifier(3).fit(features, labels).predict(features)
    Knn().set_k(3).fit(table).save(str(tmp_path / "knn"))
    [result] = Stage.load(str(tmp_path / "knn")).transform(table)  # type: ignore[attr-defined]
    assert column(result, "prediction") == list(expected)


def test_naive_bayes_of_counts_is_that_of_scikit_learn(table: DataFrame) -> None:
    naive_bayes = pytest.importorskip("sklearn.naive_bayes")
    counts = Vectors.sparse(3, {0: 1.0, 2: 4.0}), Vectors.dense(2, 0, 1), Vectors.dense(0, 3, 0)
    frame = table.sparkSession.createDataFrame(list(zip(counts, [0.0, 0.0, 1.0])), ["features", "label"])
    [result] = NaiveBayes().set_smoothing(0.5).fit(frame).transform(frame)
    dense = np.array([each.toArray() for each in counts])
    expected = naive_bayes.MultinomialNB(alpha=0.5).fit(dense, [0, 0, 1]).predict(dense)
    assert column(result, "prediction") == list(expected)


def test_model_data_is_a_table_and_another_model_takes_it_over(table: DataFrame) -> None:
    model = LinearRegression().set_label_col("target").fit(table)
    [data] = model.get_model_data()
    assert data.columns == ["coefficients", "intercept"]
    assert np.allclose(data.first()["coefficients"], [2, -1, 0], atol=1e-3)
    other = type(model)().set_model_data(data).set_prediction_col("again")
    assert column(other.transform(table)[0], "again") == column(model.transform(table)[0], "prediction")
    with pytest.raises(ConfigurationError, match="one row, got more"):
        type(model)().set_model_data(data.union(data))
    with pytest.raises(ProgramError, match="LinearRegressionModel has learned nothing"):
        type(model)().transform(table)


def test_a_graph_learns_from_one_table_and_predicts_another(table: DataFrame, tmp_path: Path) -> None:
    builder = GraphBuilder()
    training, serving = builder.create_table_id(), builder.create_table_id()
    scaler, classifier = io(StandardScaler()), LogisticRegression().set_features_col("out").set_max_iter(3)
    scaled_serving = builder.add_estimator(scaler, training, model_inputs=[serving])[0]
    scaled_training = builder.add_estimator(io(MinMaxScaler()), training)[0]
    predicted = builder.add_estimator(classifier, scaled_training, model_inputs=[scaled_serving])[0]
    learned = builder.get_model_data_from_estimator(classifier)[0]
    graph = builder.build_estimator(
        [training], [predicted, scaled_serving], output_model_data=[learned], model_inputs=[serving, training]
    )
    graph.save(str(tmp_path / "graph"))
    model = Stage.load(str(tmp_path / "graph")).fit(table)  # type: ignore[attr-defined]
    model.save(str(tmp_path / "model"))
    loaded: Any = Stage.load(str(tmp_path / "model"))
    few = table.limit(5)
    result, scaled = loaded.transform(few, table)
    assert column(scaled, "out") == column(scaler.fit(table).transform(few)[0], "out")
    assert len(column(result, "prediction")) == 5
    [minmax] = io(MinMaxScaler()).fit(table).transform(table)
    expected = classifier.fit(minmax).get_model_data()[0].first()
    assert loaded.get_model_data()[0].first() == expected


@pytest.fixture(scope="module")
def predicted(table: DataFrame) -> DataFrame:
    [made] = LogisticRegression().set_max_iter(5).fit(table).transform(table)
    return made.cache()


@pytest.mark.parametrize("raw", ["raw_prediction", "number"])
def test_two_classes_are_evaluated(raw: str, predicted: DataFrame) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    evaluator = BinaryClassificationEvaluator().set_raw_prediction_col(raw)
    evaluator.set_metrics_names("areaUnderROC", "areaUnderPR", "areaUnderLorenz", "ks")
    [result] = evaluator.transform(predicted)
    values = result.first().asDict()
    labels = np.array(column(predicted, "label"))
    scores = np.array([each[1] if isinstance(each, list) else each for each in column(predicted, raw)])
    false, true, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    assert values["areaUnderROC"] == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert values["ks"] == pytest.approx(np.abs(true - false).max())
    share = labels.mean()
    assert values["areaUnderLorenz"] == pytest.approx(share / 2 + (1 - share) * values["areaUnderROC"])
    theirs = spark_evaluation.BinaryClassificationEvaluator(rawPredictionCol=raw, metricName="areaUnderPR")
    assert values["areaUnderPR"] == pytest.approx(theirs.evaluate(predicted))


def test_classes_numbers_and_clusters_are_evaluated(table: DataFrame, predicted: DataFrame) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels, guesses = column(predicted, "label"), column(predicted, "prediction")
    assert MulticlassClassificationEvaluator().evaluate(predicted) == {
        "accuracy": pytest.approx(metrics.accuracy_score(labels, guesses)),
        "f1": pytest.approx(metrics.f1_score(labels, guesses, average="weighted")),
    }
    evaluator = RegressionEvaluator().set_label_col("target").set_prediction_col("number").set_metrics_names("mae")
    expected = metrics.mean_absolute_error(column(table, "target"), column(table, "number"))
    assert evaluator.evaluate(table) == {"mae": pytest.approx(expected)}
    [clustered] = KMeans().set_seed(3).set_max_iter(3).fit(table).transform(table)
    expected = metrics.silhouette_score(
        column(table, "features"), column(clustered, "prediction"), metric="sqeuclidean"
    )
    assert ClusteringEvaluator().evaluate(clustered) == {"silhouette": pytest.approx(expected)}


def test_what_is_wrong_with_the_input_is_said_with_the_name_of_the_stage(table: DataFrame, spark: SparkSession) -> None:
    with pytest.raises(ConfigurationError, match=r"StandardScaler reads the column 'nowhere'.* It has: features"):
        StandardScaler().set_input_col("nowhere").fit(table)
    with pytest.raises(ConfigurationError, match="StandardScaler takes one table, got 2"):
        StandardScaler().fit(table, table)
    with pytest.raises(ConfigurationError, match="StandardScaler takes a DataFrame of Spark, got list"):
        StandardScaler().fit([1])
    with pytest.raises(ConfigurationError, match=r"VectorAssembler: parameter 'input_cols' .* Call set_input_cols"):
        VectorAssembler().transform(table)
    with pytest.raises(ConfigurationError, match=r"MinMaxScaler\(input_col='number', .*must be of type"):
        io(MinMaxScaler(), "number").fit(table)
    with pytest.raises(ConfigurationError, match=r"^StandardScaler\(.*Nothing has been added"):
        io(StandardScaler()).fit(table.where("false"))
    with pytest.raises(ConfigurationError, match=r"Knn: there is nothing to learn from"):
        Knn().fit(table.where("false"))
    with pytest.raises(ConfigurationError, match="the table has a column 'label' already"):
        Knn().set_prediction_col("label").fit(table).transform(table)
    arrays = spark.createDataFrame([([1.0], 1.0)], ["features", "label"])
    with pytest.raises(
        ConfigurationError, match=r"'features' is array<double>. Use pyspark.ml.functions.array_to_vector"
    ):
        KMeans().fit(arrays)
    with pytest.raises(ConfigurationError, match=r"'number' is double. Use a VectorAssembler"):
        LogisticRegression().set_features_col("number").fit(table)
    wrong = spark.createDataFrame([(Vectors.dense(1), -1.0)], ["features", "label"])
    with pytest.raises(ConfigurationError, match=r"LogisticRegression\(\): .*but got -1.0"):
        LogisticRegression().fit(wrong)
    with pytest.raises(ConfigurationError, match=r"OneHotEncoder\(.*must be indices, but got -1.0"):
        OneHotEncoder().set_input_cols("label").set_output_cols("out").fit(wrong)


def test_texts_that_were_not_seen(table: DataFrame, spark: SparkSession) -> None:
    model: StringIndexerModel = StringIndexer().set_input_cols("city").set_output_cols("out").fit(table)
    other = spark.createDataFrame([("Rome",), ("Kyiv",)], ["city"])
    assert column(model.set_handle_invalid("skip").transform(other)[0], "city") == ["Rome"]
    assert column(model.set_handle_invalid("keep").transform(other)[0], "out")[1] == 3.0


def test_vectors_are_those_of_spark() -> None:
    assert Vectors.dense(1, 2) == SparkVectors.dense([1.0, 2.0])
    assert Vectors.sparse(3, {1: 2.0}) == SparkVectors.sparse(3, [1], [2.0])
