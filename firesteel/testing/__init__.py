"""For tests of programs: a source that follows a script, a clock that is moved by hand, and operators under test."""

from firesteel.testing.clock import ManualClock, use_clock
from firesteel.testing.harness import (
    KeyedOneInputOperatorHarness,
    KeyedTwoInputOperatorHarness,
    MultipleInputOperatorHarness,
    OneInputOperatorHarness,
    OutputRecord,
    OutputWatermark,
    TwoInputOperatorHarness,
)
from firesteel.testing.sources import (
    ACTIVE,
    CRASH,
    EPOCH_CUT,
    IDLE,
    InjectedFailure,
    ScriptedSource,
    element,
    processing_time,
    watermark,
)

__all__ = [
    "ACTIVE",
    "CRASH",
    "EPOCH_CUT",
    "IDLE",
    "InjectedFailure",
    "KeyedOneInputOperatorHarness",
    "KeyedTwoInputOperatorHarness",
    "MultipleInputOperatorHarness",
    "ManualClock",
    "OneInputOperatorHarness",
    "OutputRecord",
    "OutputWatermark",
    "ScriptedSource",
    "TwoInputOperatorHarness",
    "element",
    "processing_time",
    "use_clock",
    "watermark",
]
