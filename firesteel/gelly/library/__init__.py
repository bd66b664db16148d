"""Algorithms on graphs: ``graph.run(PageRank(0.85, 20))``."""

from firesteel.gelly.library.clustering import (
    AverageClusteringCoefficient,
    ClusteringResult,
    GlobalClusteringCoefficient,
    LocalClusteringCoefficient,
)
from firesteel.gelly.library.communities import CommunityDetection, LabelPropagation
from firesteel.gelly.library.components import ConnectedComponents, GSAConnectedComponents
from firesteel.gelly.library.link_analysis import HITS, HITSResult, PageRank, PageRankResult
from firesteel.gelly.library.paths import GSASingleSourceShortestPaths, SingleSourceShortestPaths
from firesteel.gelly.library.similarity import AdamicAdar, AdamicAdarResult, JaccardIndex, JaccardResult
from firesteel.gelly.library.triangles import TriangleCount, TriangleEnumerator, TriangleListing

__all__ = [
    "HITS",
    "AdamicAdar",
    "AdamicAdarResult",
    "AverageClusteringCoefficient",
    "ClusteringResult",
    "CommunityDetection",
    "ConnectedComponents",
    "GSAConnectedComponents",
    "GSASingleSourceShortestPaths",
    "GlobalClusteringCoefficient",
    "HITSResult",
    "JaccardIndex",
    "JaccardResult",
    "LabelPropagation",
    "LocalClusteringCoefficient",
    "PageRank",
    "PageRankResult",
    "SingleSourceShortestPaths",
    "TriangleCount",
    "TriangleEnumerator",
    "TriangleListing",
]
