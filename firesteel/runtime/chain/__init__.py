"""A chain in a subtask: operators linked by plain calls, a gate before them, emitters behind them."""

from firesteel.runtime.chain.instance import ChainInstance
from firesteel.runtime.chain.settings import BackendFactory, SubtaskSettings

__all__ = ["BackendFactory", "ChainInstance", "SubtaskSettings"]
