"""Makes the operators of a chain and connects them."""

from __future__ import annotations

from firesteel.errors import ProgramError
from firesteel.metrics import MetricGroup
from firesteel.runtime.batch import Format
from firesteel.runtime.chain.settings import SubtaskSettings
from firesteel.runtime.declared_rows import NamingOutput
from firesteel.runtime.emitters import Emitter
from firesteel.runtime.layout import PlannedChain, PlannedEdge, PlannedOperator
from firesteel.runtime.operator import ChainLink, Guard, Operator, OperatorContext, Output
from firesteel.runtime.receiving import receiver
from firesteel.runtime.routing import make_emitter
from firesteel.state import codec
from firesteel.state.backend import KeyedStateBackend
from firesteel.state.one_key import OneKeyBackend
from firesteel.state.operator_state import OperatorStateBackend


class ChainParts:
    """The operators of a chain, linked by plain calls, and the emitters behind them.

    :param subtask: Of which subtask.
    """

    def __init__(self, layout: PlannedChain, subtask: int, settings: SubtaskSettings) -> None:
        self._layout = layout
        self._subtask = subtask
        self._settings = settings
        self.links: dict[int, ChainLink] = {}
        """By the operator's number, in the order of the chain."""
        self.emitters: list[Emitter] = []
        """In the order of the layout's outputs."""
        for planned in layout.operators:
            self.links[planned.id] = ChainLink(Guard(planned.info, None).call(self._make_operator, planned))
        self._connect_operators()
        for edge in layout.outputs:
            self._connect_emitter(edge)

    def _connect_operators(self) -> None:
        takes = {planned.id: planned.takes for planned in self._layout.operators}
        for call in self._layout.chained_edges:
            target = self.links[call.target]
            output = self.links[call.operator].operator.output
            receive = receiver(target, target.receive, call.format, takes[call.target], call.row_type)
            output.connect(receive, target.advance_watermark, target.advance_status, call.tag)

    def _make_operator(self, planned: PlannedOperator) -> Operator:
        operator: Operator = codec.loads(planned.factory)()
        _refuse_other_formats(planned, operator)
        operator.setup(self._operator_context(planned, self._settings.sorts_for(planned, operator)))
        return operator

    def _operator_context(self, planned: PlannedOperator, one_key: bool) -> OperatorContext:
        settings, worker = self._settings, self._settings.worker
        restore = settings.restores.get(planned.info.uid)
        return OperatorContext(
            info=planned.info,
            subtask_index=self._subtask,
            parallelism=self._layout.parallelism,
            max_parallelism=self._layout.max_parallelism,
            attempt=settings.generation,
            clock=settings.clock,
            output=self._make_output(planned.row_names if planned.gives is Format.ROWS else None),
            metrics=MetricGroup(),
            operator_state=OperatorStateBackend(),
            keyed_state=self._make_backend(one_key) if planned.keyed else None,
            batch_mode=worker.batch_mode,
            object_reuse=worker.object_reuse,
            job_parameters=worker.job_parameters,
            cached_files=settings.cached_files,
            restored_checkpoint=None if restore is None else restore.checkpoint_id,
            rescaled=restore is not None and restore.rescaled,
            batch_records=worker.chunk_records,
            auto_watermark_interval=worker.auto_watermark_interval,
            key_fields=planned.key_fields,
        )

    def _make_output(self, row_names: tuple[str, ...] | None) -> Output:
        reuse = self._settings.worker.object_reuse
        return Output(reuse) if row_names is None else NamingOutput(row_names, reuse)

    def _make_backend(self, one_key: bool) -> KeyedStateBackend:
        factory = OneKeyBackend if one_key else self._settings.backend_factory
        backend = factory(self._layout.max_parallelism)
        backend.clock = self._settings.clock
        return backend

    def _connect_emitter(self, edge: PlannedEdge) -> None:
        emitter = make_emitter(
            codec.loads(edge.partitioning),
            edge=edge.id,
            level=edge.level,
            subtask=self._subtask,
            producers=edge.producers,
            targets=edge.targets,
            max_parallelism=edge.max_parallelism,
            chunk_records=self._settings.worker.chunk_records,
            producer=self.links[edge.operator].operator.context.info,
            format=edge.format,
        )
        guard = Guard(edge.info, emitter)
        gives = next(planned.gives for planned in self._layout.operators if planned.id == edge.operator)
        emit = receiver(self.links[edge.operator], lambda batch: guard.run(emitter.emit, batch), gives, edge.format)
        self.emitters.append(emitter)
        self.links[edge.operator].operator.output.connect(
            emit,
            emitter.advance_watermark,
            emitter.advance_status,
            edge.tag,
            reads_only=True,
        )


def _refuse_other_formats(planned: PlannedOperator, operator: Operator) -> None:
    """The plan has looked at the factory to find out about formats; some factories do not let one see."""
    for said, found in ((planned.takes, operator.takes), (planned.gives, operator.gives)):
        if found is not said and Format.EITHER is not found:
            raise ProgramError(
                f"the factory of this operator makes a {type(operator).__name__}, which works on {found.value}, but "
                "does not show it. Pass the class itself, or a functools.partial of it, not a lambda"
            )
