"""Storm's spouts and bolts as sources and flat maps."""

from firesteel.connectors.storm import Bolt, Spout, StormBolt, StormSpout, StormTuple

__all__ = ["Bolt", "Spout", "StormBolt", "StormSpout", "StormTuple"]
