"""k-means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.clustering.onlinekmeans import OnlineKMeans, OnlineKMeansModel
from firesteel.ml.clustering.params import KMeansModelParams
from firesteel.ml.common.param import (
    HasMaxIter,
    HasSeed,
    HasTol,
    HasWeightCol,
)
from firesteel.ml.mllib import SparkEstimator, SparkModel, java_array, new_java, old_vector
from firesteel.ml.param import Param, ParamValidators, StringParam

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KMeans", "KMeansModel", "OnlineKMeans", "OnlineKMeansModel"]


class _Params(KMeansModelParams, HasSeed, HasMaxIter, HasTol, HasWeightCol):
    """Parameters of :class:`KMeans`."""

    INIT_MODE: Param[str] = StringParam(
        "init_mode",
        "How the first centers are chosen: at random, or far apart.",
        "random",
        ParamValidators.in_array(["random", "k-means||"]),
    )

    def set_init_mode(self, value: str) -> Self:
        """How the first centers are chosen: at random, or far apart."""
        return self.set(self.INIT_MODE, value)

    def get_init_mode(self) -> str:
        """How the first centers are chosen: at random, or far apart."""
        return self.get(self.INIT_MODE)

    @property
    def init_mode(self) -> str:
        """How the first centers are chosen: at random, or far apart."""
        return self.get(self.INIT_MODE)


class KMeansModel(SparkModel, KMeansModelParams):
    """Predicts the cluster whose center is nearest."""

    spark_class = "clustering.KMeansModel"
    model_fields = {"centroids": "array<array<double>>"}

    def java_arguments(self) -> tuple[Any, ...]:
        centroids = [old_vector(each) for each in self.learned["centroids"]]
        array = java_array(centroids, "org.apache.spark.mllib.linalg.Vector")
        return (new_java("org.apache.spark.mllib.clustering.KMeansModel", array, self.distance_measure),)


class KMeans(SparkEstimator, _Params):
    """Finds centers such that all vectors are near one of them.

    Flink's distance ``manhattan`` is not in MLlib.
    """

    spark_class = "clustering.KMeans"
    model_class = KMeansModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"centroids": [[float(value) for value in center] for center in fitted.clusterCenters()]}
