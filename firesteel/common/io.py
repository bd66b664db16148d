"""Input formats: how a bounded input is cut into splits and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Reads a bounded input split by split. Instances must be picklable while no split is open.

    ``create_input_splits`` is called once, in the driver. Then, in a task and for each split: ``open``, as
    many times ``next_record`` as ``reached_end`` says no, and ``close``.
    """

    @abstractmethod
    def create_input_splits(self, min_num_splits: int) -> Sequence[Any]:
        """Cut the input into picklable splits, at least `min_num_splits` of them where the input allows."""

    @abstractmethod
    def open(self, split: Any) -> None:
        """Begin reading a split."""

    @abstractmethod
    def reached_end(self) -> bool:
        """Whether the open split has no record left."""

    @abstractmethod
    def next_record(self) -> Any:
        """The next record of the open split."""

    @abstractmethod
    def close(self) -> None:
        """End reading the open split."""
