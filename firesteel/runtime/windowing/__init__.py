"""Windows: one operator with assigner, trigger, evictor, function and time domain plugged in, and quicker ones for the
usual combinations.
"""

from firesteel.runtime.windowing.choice import make_window_operator, operator_class
from firesteel.runtime.windowing.spec import WindowSpec

__all__ = ["WindowSpec", "make_window_operator", "operator_class"]
