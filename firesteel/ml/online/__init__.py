"""Learning from streams: what the online stages are made of, for algorithms of one's own.

The stages themselves are where PyFlink has them: :mod:`firesteel.ml.classification`, :mod:`firesteel.ml.clustering`
and :mod:`firesteel.ml.feature`.
"""

from firesteel.ml.online.batches import CountTumblingWindows, EventTimeTumblingWindows, GlobalWindows, Windows
from firesteel.ml.online.learner import Learner, ModelVersion
from firesteel.ml.online.river import OnlineRiver, OnlineRiverModel
from firesteel.ml.online.stages import OnlineEstimator, OnlineModel

__all__ = [
    "CountTumblingWindows",
    "EventTimeTumblingWindows",
    "GlobalWindows",
    "Learner",
    "ModelVersion",
    "OnlineEstimator",
    "OnlineModel",
    "OnlineRiver",
    "OnlineRiverModel",
    "Windows",
]
