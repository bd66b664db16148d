"""Slot sharing groups and the sizes of memory they may name."""

from __future__ import annotations

from functools import total_ordering

from firesteel.common.warnings import warn_once
from firesteel.datastream._internal import arguments
from firesteel.errors import ConfigurationError

_KIBI = 1024


@total_ordering
class MemorySize:
    """A number of bytes.

    ::

        >>> MemorySize.of_mebi_bytes(2).get_kibi_bytes()
        2048
    """

    def __init__(self, bytes_size: int) -> None:
        self._bytes = arguments.whole_number("MemorySize", "bytes_size", bytes_size, least=1)

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """A size in units of 2**20 bytes; 0 says that none of this kind of memory is wanted."""
        size = MemorySize.__new__(MemorySize)
        count = arguments.whole_number("of_mebi_bytes", "mebi_bytes", mebi_bytes, least=0)
        vars(size)["_bytes"] = count * _KIBI**2
        return size

    def get_bytes(self) -> int:
        """The size in bytes."""
        return self._bytes

    def get_kibi_bytes(self) -> int:
        """The size in whole units of 2**10 bytes."""
        return self._bytes // _KIBI

    def get_mebi_bytes(self) -> int:
        """The size in whole units of 2**20 bytes."""
        return self._bytes // _KIBI**2

    def get_gibi_bytes(self) -> int:
        """The size in whole units of 2**30 bytes."""
        return self._bytes // _KIBI**3

    def get_tebi_bytes(self) -> int:
        """The size in whole units of 2**40 bytes."""
        return self._bytes // _KIBI**4

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemorySize) and other._bytes == self._bytes

    def __lt__(self, other: object) -> bool:
        return self._bytes < other._bytes if isinstance(other, MemorySize) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __str__(self) -> str:
        for unit, size in (("tb", _KIBI**4), ("gb", _KIBI**3), ("mb", _KIBI**2), ("kb", _KIBI)):
            if self._bytes and self._bytes % size == 0:
                return f"{self._bytes // size} {unit}"
        return f"{self._bytes} bytes"

    def __repr__(self) -> str:
        return f"MemorySize({self._bytes})"


class SlotSharingGroup:
    """A named group of operators, with the resources they want.

    On this engine all operators of a job share all slots and Spark decides about resources: a group keeps its
    operators from being chained to others, its resources have no effect. Setting any warns once.

    ::

        group = SlotSharingGroup.builder("heavy").build()
        stream.map(work).slot_sharing_group(group)
    """

    def __init__(
        self,
        name: str,
        cpu_cores: float | None = None,
        task_heap_memory: MemorySize | None = None,
        task_off_heap_memory: MemorySize | None = None,
        managed_memory: MemorySize | None = None,
        external_resources: dict[str, float] | None = None,
    ) -> None:
        self._name = arguments.text("SlotSharingGroup", "name", name)
        self._cpu_cores = cpu_cores
        self._task_heap_memory = task_heap_memory
        self._task_off_heap_memory = task_off_heap_memory
        self._managed_memory = managed_memory
        self._external_resources = dict(external_resources or {})
        if self._resources() != (None, None, None, None, {}):
            warn_once(
                "SlotSharingGroup.resources",
                f"SlotSharingGroup({name!r}): resources of a slot sharing group have no effect on this engine; "
                "set spark.executor.cores and spark.executor.memory instead.",
            )

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Start to make a group of that name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """The name of the group."""
        return self._name

    def get_cpu_cores(self) -> float | None:
        """The CPU cores wanted, or None if unspecified."""
        return self._cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """The heap memory wanted, or None if unspecified."""
        return self._task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """The memory outside the heap wanted, or None if unspecified."""
        return self._task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """The managed memory wanted, or None if unspecified."""
        return self._managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Other resources wanted (GPUs and the like), by name."""
        return dict(self._external_resources)

    def _resources(self) -> tuple[object, ...]:
        return (
            self._cpu_cores,
            self._task_heap_memory,
            self._task_off_heap_memory,
            self._managed_memory,
            self._external_resources,
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SlotSharingGroup)
            and other._name == self._name
            and other._resources() == self._resources()
        )

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"SlotSharingGroup({self._name!r})"

    class Builder:
        """Collects what a group wants. CPU cores and heap memory go together, as in Flink."""

        def __init__(self, name: str) -> None:
            self._name = arguments.text("SlotSharingGroup.builder", "name", name)
            self._cpu_cores: float | None = None
            self._memory: dict[str, MemorySize] = {}
            self._external_resources: dict[str, float] = {}

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Want that many CPU cores."""
            self._cpu_cores = _positive("set_cpu_cores", "cpu_cores", cpu_cores)
            return self

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Want that much heap memory: more than none."""
            if isinstance(task_heap_memory, MemorySize) and task_heap_memory.get_bytes() == 0:
                raise arguments.wrong_argument(
                    "set_task_heap_memory", "task_heap_memory", task_heap_memory, "a size above 0"
                )
            return self._set_memory("set_task_heap_memory", "task_heap_memory", task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Want that many mebibytes of heap memory."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Want that much memory outside the heap."""
            return self._set_memory("set_task_off_heap_memory", "task_off_heap_memory", task_off_heap_memory)

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Want that many mebibytes of memory outside the heap."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Want that much managed memory."""
            return self._set_memory("set_managed_memory", "managed_memory", managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Want that many mebibytes of managed memory."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Want that much of another resource."""
            arguments.text("set_external_resource", "name", name)
            self._external_resources[name] = _positive("set_external_resource", "value", value)
            return self

        def build(self) -> SlotSharingGroup:
            """The group."""
            wants_any = bool(self._cpu_cores or self._memory or self._external_resources)
            if wants_any and (self._cpu_cores is None or "task_heap_memory" not in self._memory):
                raise ConfigurationError(
                    f"SlotSharingGroup {self._name!r}: a group with resources needs both CPU cores and heap memory. "
                    "Call set_cpu_cores() and set_task_heap_memory(), or set no resource at all."
                )
            return SlotSharingGroup(
                self._name, self._cpu_cores, external_resources=self._external_resources, **self._memory
            )

        def _set_memory(self, method: str, argument: str, size: MemorySize) -> SlotSharingGroup.Builder:
            if not isinstance(size, MemorySize):
                raise arguments.wrong_argument(
                    method, argument, size, "a MemorySize", f"{method}_mb() takes a number of mebibytes."
                )
            self._memory[argument] = size
            return self


def _positive(method: str, argument: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        raise arguments.wrong_argument(method, argument, value, "a number above 0")
    return float(value)
