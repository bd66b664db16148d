"""Learning clusters."""

from firesteel.ml.clustering.kmeans import KMeans, KMeansModel
from firesteel.ml.clustering.onlinekmeans import OnlineKMeans, OnlineKMeansModel

__all__ = ["KMeans", "KMeansModel", "OnlineKMeans", "OnlineKMeansModel"]
