"""What functions and conditions may ask of their surroundings: all but state."""

from __future__ import annotations

from typing import Any, NoReturn

from firesteel.errors import UnsupportedError
from firesteel.model.state import StateDescriptor
from firesteel.runtime.contexts import SubtaskRuntimeContext


class CepRuntimeContext(SubtaskRuntimeContext):
    """A runtime context without state, as in Flink: what a pattern remembers are its partial matches."""

    def get_state(self, state_descriptor: StateDescriptor) -> Any:
        """Refused."""
        self._refuse(state_descriptor)

    def get_list_state(self, state_descriptor: StateDescriptor) -> Any:
        """Refused."""
        self._refuse(state_descriptor)

    def get_map_state(self, state_descriptor: StateDescriptor) -> Any:
        """Refused."""
        self._refuse(state_descriptor)

    def get_reducing_state(self, state_descriptor: StateDescriptor) -> Any:
        """Refused."""
        self._refuse(state_descriptor)

    def get_aggregating_state(self, state_descriptor: StateDescriptor) -> Any:
        """Refused."""
        self._refuse(state_descriptor)

    @staticmethod
    def _refuse(state_descriptor: StateDescriptor) -> NoReturn:
        raise UnsupportedError(
            f"state {state_descriptor.get_name()!r}: functions and conditions of patterns have no state of their own, "
            "as in Flink. A condition sees the events taken so far in get_events_for_pattern(); what has to be "
            "remembered beyond a match belongs to a process function behind the pattern."
        )
