"""What can be set on an operator, shared by streams and sinks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.errors import ConfigurationError, UnsupportedError
from firesteel.plan.graph import PhysicalTransformation

_S = TypeVar("_S", bound="OperatorSettings")


class OperatorSettings(ABC):
    """Settings of the operator that a stream or sink stands for. Each method returns the stream or sink itself."""

    @abstractmethod
    def _operator(self, method: str) -> PhysicalTransformation:
        """The operator to set something on, or an error that names ``method``."""

    def name(self: _S, name: str) -> _S:
        """Name the operator, for plans, logs, metrics and error messages."""
        operator = self._operator("name")
        operator.name = arguments.text("name", "name", name)
        return self

    def uid(self: _S, uid: str) -> _S:
        """Give the operator an identity that outlives changes of the program: saved state is found under it.

        Unique within a job.
        """
        operator = self._operator("uid")
        operator.uid = arguments.text("uid", "uid", uid)
        return self

    def set_uid_hash(self: _S, uid_hash: str) -> _S:
        """Not supported: state is stored under the uid itself, there are no hashes of it. Raises an error.

        In Flink this recovers state whose automatic id was found in a log. Here set :meth:`uid` to the id that
        ``get_execution_plan()`` shows for the old program.
        """
        raise UnsupportedError(
            f"set_uid_hash({uid_hash!r}): operators have no uid hashes on this engine, state is stored under the uid. "
            "Use uid() with the uid that the former program's get_execution_plan() shows."
        )

    def set_description(self: _S, description: str) -> _S:
        """Describe the operator at length, for ``get_execution_plan()`` and the dashboard."""
        operator = self._operator("set_description")
        operator.description = arguments.text("set_description", "description", description)
        return self

    def set_parallelism(self: _S, parallelism: int) -> _S:
        """Run the operator in this many subtasks, whatever the environment's parallelism is."""
        operator = self._operator("set_parallelism")
        arguments.parallelism("set_parallelism", parallelism)
        if operator.fixed_parallelism and parallelism != operator.parallelism:
            raise ConfigurationError(
                f"set_parallelism: the operator {operator.name!r} can only run with parallelism "
                f"{operator.parallelism}, got {parallelism}. Set the parallelism on an operator behind it; "
                "rebalance() spreads the records."
            )
        operator.parallelism = parallelism
        return self

    def set_max_parallelism(self: _S, max_parallelism: int) -> _S:
        """Set the number of key groups of the operator: the highest parallelism it can ever be rescaled to."""
        operator = self._operator("set_max_parallelism")
        operator.max_parallelism = arguments.max_parallelism("set_max_parallelism", max_parallelism)
        return self

    def disable_chaining(self: _S) -> _S:
        """Run the operator in a pass of its own, never together with its neighbours."""
        self._operator("disable_chaining").chaining = "never"
        return self

    def slot_sharing_group(self: _S, slot_sharing_group: str | SlotSharingGroup) -> _S:
        """Put the operator into a group, by name or object.

        Operators of different groups do not run in one pass. Apart from that groups have no effect: all operators of
        a job share all slots on this engine. A group other than ``default`` warns about that once.
        """
        operator = self._operator("slot_sharing_group")
        if isinstance(slot_sharing_group, SlotSharingGroup):
            group = slot_sharing_group.get_name()
        elif isinstance(slot_sharing_group, str) and slot_sharing_group:
            group = slot_sharing_group
        else:
            raise arguments.wrong_argument(
                "slot_sharing_group", "slot_sharing_group", slot_sharing_group, "a name or a SlotSharingGroup"
            )
        if group != "default":
            warn_once(
                "slot_sharing_group",
                "slot_sharing_group(): all operators of a job share their slots on this engine; "
                "a group only keeps its operators from being chained to others.",
            )
        operator.slot_sharing_group = group
        return self
