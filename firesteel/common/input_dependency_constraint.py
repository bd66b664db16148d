"""When a task may start, seen from its inputs."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Whether a task waits for any of its inputs or for all.

    Kept for programs that name it. There is nothing to choose here: in each epoch a level of operators starts when
    all levels before it are done, which is ALL.
    """

    ANY = 0
    ALL = 1
