"""Patterns that come and go while the job runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.cep.functions import PatternProcessFunction
from firesteel.cep.operator import CepOperator, CepSettings
from firesteel.cep.pattern import Condition, Pattern
from firesteel.cep.runtime_context import CepRuntimeContext
from firesteel.cep.yaml_form import read_any_pattern
from firesteel.common.time import MAX_WATERMARK
from firesteel.errors import ProgramError
from firesteel.model.state import MapStateDescriptor
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import Operator


@dataclass(frozen=True)
class PatternUpdate:
    """A record of the control stream: look for a pattern from now on, or no longer.

    :param name: Which pattern; one of the same name is replaced.
    :param pattern: As text, as YAML, or what YAML was read to; None: it is no longer looked for.
    """

    name: str
    pattern: str | Mapping[str, Any] | None


class TimelessOperator(Operator):
    """Lets the records of a control stream pass and says that it is idle: it must not hold event time back."""

    def open(self) -> None:
        """Say so before anything comes."""
        self.output.emit_status(True)

    def process(self, batch: RowBatch) -> None:
        """Pass on."""
        self.output.emit(RowBatch(batch.values))

    def advance_watermark(self, watermark: int) -> None:
        """Control records have no time, but for the last watermark, which comes with the end."""
        self.watermark = watermark
        if watermark == MAX_WATERMARK:
            self.output.emit_watermark(watermark)

    def advance_status(self, idle: bool) -> None:
        """Idle for good."""
        return None


class DynamicCepOperator(CepOperator):
    """Looks for the patterns that the control stream says. The first input is the control stream."""

    STATE = MapStateDescriptor("_cep/patterns")
    """What the broadcast stream is declared with; the patterns are kept with the operator's snapshot."""

    def __init__(
        self, conditions: dict[str, Condition], function: PatternProcessFunction, settings: CepSettings
    ) -> None:
        super().__init__({}, function, settings)
        self._conditions = conditions
        self._written: dict[str, Any] = {}

    def restore(self, states: list[Any]) -> None:
        """Look for the patterns of the snapshot again; every subtask had the same."""
        for state in states[:1]:
            self._written = dict(state["patterns"])
            self.patterns = {name: self._read(name, written) for name, written in self._written.items()}
        super().restore(states)

    def snapshot(self) -> Any:
        """The patterns as they were written."""
        return {**super().snapshot(), "patterns": self._written}

    def process(self, batch: RowBatch) -> None:
        """Records of the control stream."""
        self.cursor = iter(batch.values)
        for value in self.cursor:
            update = value if isinstance(value, PatternUpdate) else _update(value)
            self._change(update)

    def process_second(self, batch: RowBatch) -> None:
        """Events."""
        super().process(batch)

    def _change(self, update: PatternUpdate) -> None:
        pattern = None if update.pattern is None else self._read(update.name, update.pattern)
        if pattern is not None and self._written.get(update.name) == update.pattern:
            return
        self._drop(update.name)
        if pattern is not None:
            self.patterns[update.name] = pattern
            self._written[update.name] = update.pattern
            self.add_pattern(update.name, pattern, CepRuntimeContext(self.context))

    def _drop(self, name: str) -> None:
        automaton = self.automata.pop(name, None)
        if automaton is None:
            return
        del self.patterns[name], self._written[name]
        self.settle()
        keyed = self.keyed
        for key in keyed.open_keys():
            keyed.load(key)
            automaton.release_all(keyed.of(name, automaton), keyed.buffer)
            keyed.forget(name)

    def _read(self, name: str, written: Any) -> Pattern:
        try:
            return read_any_pattern(written, self._conditions)
        except ProgramError as error:
            raise type(error)(f"pattern {name!r} of the control stream: {error}") from error


def _update(value: Any) -> PatternUpdate:
    if isinstance(value, tuple | list) and len(value) == 2 and isinstance(value[0], str):
        return PatternUpdate(value[0], value[1])
    raise ProgramError(
        f"a record of the control stream must be a PatternUpdate or (name, pattern), got {value!r:.200}."
    )
