"""When a task may start, seen from its inputs."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Whether a task waits for one of its inputs or for all. A name kept for programs that use it:

    here a level of operators always starts when all levels before it are done with the epoch, which is ALL.
    """

    ANY = 0
    ALL = 1
