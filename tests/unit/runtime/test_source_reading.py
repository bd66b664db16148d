"""How much a source reads in an epoch."""

from __future__ import annotations

from firesteel.connectors.collection import CollectionSource
from firesteel.metrics import MetricGroup
from firesteel.model.source import SourceSplit
from firesteel.runtime.failure import OperatorInfo
from firesteel.runtime.operator import Clock, OperatorContext, Output
from firesteel.runtime.source import SourceOperator, SourceTask
from firesteel.state.operator_state import OperatorStateBackend


def test_a_source_reads_something_though_others_have_used_up_the_time() -> None:
    """Otherwise a source beside a quick one could wait for ever: all of a subtask share the time of an epoch."""
    operator = SourceOperator(CollectionSource([1, 2, 3]), None)
    operator.setup(
        OperatorContext(
            info=OperatorInfo("numbers", "numbers", "-"),
            subtask_index=0,
            parallelism=1,
            max_parallelism=1,
            attempt=0,
            clock=Clock(),
            output=Output(),
            metrics=MetricGroup(),
            operator_state=OperatorStateBackend(),
            batch_records=2,
        )
    )
    operator.open()
    split = SourceSplit("collection")
    operator.context.clock.begin_epoch(0, used_up=lambda: True)
    operator.on_order(SourceTask(splits=[(split, 0)], max_records=100))
    report = operator.report()
    assert report is not None
    assert report.positions == {"collection": (2, False)}
