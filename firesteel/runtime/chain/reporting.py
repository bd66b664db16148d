"""What a chain reports to the driver at the end of an epoch."""

from __future__ import annotations

from typing import Any

from firesteel.runtime.chain.building import ChainParts
from firesteel.runtime.emitters import unpicklable
from firesteel.runtime.epoch import SubtaskReport
from firesteel.runtime.layout import PlannedChain
from firesteel.runtime.operator import ChainLink, Operator
from firesteel.runtime.remarks import Remarks
from firesteel.state import codec


def report_on(layout: PlannedChain, parts: ChainParts, head_waits: bool, report: SubtaskReport) -> None:
    """Add timers, what operators report to their coordinators, metrics and remarks.

    :param head_waits: Whether the timers of the first operator wait for the end of each key.
    """
    for planned in layout.operators:
        link = parts.links[planned.id]
        uid, operator = planned.info.uid, link.operator
        if not head_waits or planned is not layout.operators[0]:
            _note_timer(operator.next_processing_timer(), report)
        message = link.call(operator.report)
        if message is not None:
            report.messages[uid] = _packed(layout, parts, planned.id, message)
        if operator.context.operator_state.has_union_state:
            report.union_state.append(uid)
        report.metrics[uid] = _metrics(link)
        _remark_on(operator, report.remarks)
    for edge, emitter in zip(layout.outputs, parts.emitters):
        if emitter.only_none is not None:
            report.remarks.only_none[emitter.edge] = (edge.info, emitter.only_none)


def _note_timer(timer: int | None, report: SubtaskReport) -> None:
    if timer is not None and (report.next_timer is None or timer < report.next_timer):
        report.next_timer = timer


def _remark_on(operator: Operator, remarks: Remarks) -> None:
    info, output = operator.context.info, operator.output
    made = operator.made_watermarks()
    if made is not None:
        remarks.watermarks[info.uid] = made
    remarks.undeclared += [(info, tag) for tag in sorted(output.undeclared)]
    output.undeclared.clear()


def _packed(layout: PlannedChain, parts: ChainParts, operator: int, message: Any) -> bytes:
    """A report as bytes; what cannot be pickled is the failure of the operator that made it."""
    link = parts.links[operator]
    if not link.operator.reports_records:
        packed: bytes = link.call(codec.dumps, message)
        return packed
    try:
        return codec.dumps(message)
    except Exception as error:
        makers = [edge.operator for edge in layout.chained_edges if edge.target == operator]
        maker = parts.links[(makers or [operator])[0]].operator.context.info
        raise unpicklable(maker, message, error) from error


def _metrics(link: ChainLink) -> dict[str, Any]:
    context, output = link.operator.context, link.operator.output
    keyed = context.keyed_state
    return {
        "numRecordsIn": link.records_in + link.operator.records_read,
        "numRecordsOut": output.records_out,
        "currentInputWatermark": link.operator.watermark,
        "currentOutputWatermark": output.watermark,
        "numKeyedStateEntries": 0 if keyed is None else keyed.entry_count(),
        "user": link.call(context.metrics.snapshot),
    }
