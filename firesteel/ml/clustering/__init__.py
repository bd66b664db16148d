"""Learning clusters."""

from firesteel.ml.clustering.kmeans import KMeans, KMeansModel

__all__ = ["KMeans", "KMeansModel"]
