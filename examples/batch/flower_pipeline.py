"""Which flower is it? A pipeline learns from measured ones, is stored, and tells others: scaler, then classifier."""

import random
import tempfile

from pyspark.sql import DataFrame, SparkSession

from firesteel.ml import Pipeline, PipelineModel, Vectors
from firesteel.ml.classification import LogisticRegression
from firesteel.ml.evaluation import MulticlassClassificationEvaluator
from firesteel.ml.feature import IndexToStringModel, StandardScaler, StringIndexer

KINDS = {"rose": (5.0, 3.4, 1.5), "lily": (6.0, 2.8, 4.3), "iris": (6.6, 3.0, 5.6)}  # how long their parts are


def flowers(spark: SparkSession, count: int, seed: int) -> DataFrame:
    chance = random.Random(seed)
    kinds = [list(KINDS)[number % 3] for number in range(count)]
    rows = [(kind, Vectors.dense([chance.gauss(length, 0.3) for length in KINDS[kind]])) for kind in kinds]
    return spark.createDataFrame(rows, ["kind", "lengths"])


def main() -> None:
    spark = SparkSession.builder.getOrCreate()
    pipeline = Pipeline(
        [
            StringIndexer().set_input_cols("kind").set_output_cols("label").set_string_order_type("alphabetAsc"),
            StandardScaler().set_input_col("lengths").set_output_col("features").set_with_mean(True),
            LogisticRegression().set_max_iter(50).set_reg(0.01),
        ]
    )
    path = tempfile.mkdtemp() + "/flowers"
    pipeline.fit(flowers(spark, 150, seed=1)).save(path)

    model = PipelineModel.load(path)
    [predicted] = model.transform(flowers(spark, 60, seed=2))
    accuracy = MulticlassClassificationEvaluator().set_metrics_names("accuracy").evaluate(predicted)["accuracy"]
    print(f"more than 9 of 10 are right: {accuracy > 0.9}")

    names = IndexToStringModel().set_input_cols("prediction").set_output_cols("predicted")
    [named] = names.set_model_data(*model.stages[0].get_model_data()).transform(predicted.limit(3))
    for row in named.select("kind", "predicted").collect():
        print(f"{row.kind} is taken for {row.predicted}")


if __name__ == "__main__":
    main()

# Output:
# more than 9 of 10 are right: True
# rose is taken for rose
# lily is taken for lily
# iris is taken for iris
