"""Learning classes."""

from firesteel.ml.classification.knn import Knn, KnnModel
from firesteel.ml.classification.linearsvc import LinearSVC, LinearSVCModel
from firesteel.ml.classification.logisticregression import LogisticRegression, LogisticRegressionModel
from firesteel.ml.classification.naivebayes import NaiveBayes, NaiveBayesModel
from firesteel.ml.classification.onlinelogisticregression import OnlineLogisticRegression, OnlineLogisticRegressionModel

__all__ = [
    "Knn",
    "KnnModel",
    "LinearSVC",
    "LinearSVCModel",
    "LogisticRegression",
    "LogisticRegressionModel",
    "NaiveBayes",
    "NaiveBayesModel",
    "OnlineLogisticRegression",
    "OnlineLogisticRegressionModel",
]
