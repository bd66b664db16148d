"""Serializers that users write for their own classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Any, BinaryIO, Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Turns values of one class into bytes and back.

    Register one with :meth:`~firesteel.common.ExecutionConfig.register_serializer`; it then serves wherever
    instances of that class are shuffled or stored. Instances must be picklable. ``serialize`` is called once
    for each value that leaves a worker or is written to a snapshot, ``deserialize`` once for each that comes
    back::

        class PointSerializer(TypeSerializer):
            def serialize(self, element, stream):
                stream.write(struct.pack("dd", element.x, element.y))

            def deserialize(self, stream):
                return Point(*struct.unpack("dd", stream.read(16)))
    """

    @abstractmethod
    def serialize(self, element: T, stream: BinaryIO) -> None:
        """Write the bytes of `element` to `stream`."""

    @abstractmethod
    def deserialize(self, stream: BinaryIO) -> T:
        """Read one value from `stream`, which is placed at its first byte."""

    def to_bytes(self, element: T) -> bytes:
        """The bytes of one value."""
        stream = BytesIO()
        self.serialize(element, stream)
        return stream.getvalue()

    def from_bytes(self, data: bytes) -> T:
        """The value of bytes that :meth:`to_bytes` made."""
        return self.deserialize(BytesIO(data))

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
