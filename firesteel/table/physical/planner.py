"""From logical relations to operators: a table with one small function per kind of relation.

``TRANSLATIONS`` has them by type, and modules of this package put theirs there. A relation that is better carried out
together with its inputs (a rank that a filter cuts off, say) is seen by ``RULES`` first: the first that does not give
None has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.errors import ProgramError
from firesteel.table.functions import Session
from firesteel.table.logical.plan import Relation, Scan
from firesteel.table.physical.node import PhysicalNode

__all__ = ["RULES", "TRANSLATIONS", "Planner", "Rule", "UnsupportedQueryError", "translation"]


class UnsupportedQueryError(ProgramError, NotImplementedError):
    """A query that has a meaning, and that nothing carries out yet."""


@dataclass
class Planner:
    """Translates the relations of one job.

    :param environment: The stream environment in which the operators are put.
    :param options: The settings of the session, ``table.exec.state.ttl`` among them.
    :param batch: Whether the input is bounded and only final rows are wanted: then every node is insert-only.
    :param scan: How a table of a catalog is read.
    """

    environment: Any
    scan: Callable[[Scan, Planner], PhysicalNode]
    session: Session = field(default_factory=Session)
    options: Mapping[str, str] = field(default_factory=dict)
    batch: bool = False
    _known: dict[int, tuple[Relation, PhysicalNode]] = field(default_factory=dict)

    def translate(self, relation: Relation) -> PhysicalNode:
        """The node that gives the rows of a relation; the same relation object always has the same node."""
        found = self._known.get(id(relation))
        if found is None:
            found = self._known[id(relation)] = (relation, self._translate(relation))
        return found[1]

    def _translate(self, relation: Relation) -> PhysicalNode:
        for rule in RULES:
            node = rule(relation, self)
            if node is not None:
                return node
        translate = TRANSLATIONS.get(type(relation))
        if translate is None:
            raise UnsupportedQueryError(f"{relation.describe()}: there is no operator for this yet.")
        return translate(relation, self)


Translation = Callable[[Any, Planner], PhysicalNode]
Rule = Callable[[Relation, Planner], PhysicalNode | None]

TRANSLATIONS: dict[type[Relation], Translation] = {}
RULES: list[Rule] = []


def translation(kind: type[Relation]) -> Callable[[Translation], Translation]:
    """Say that a function translates relations of a type."""

    def put(translate: Translation) -> Translation:
        assert kind not in TRANSLATIONS, f"two translations of {kind.__name__}"
        TRANSLATIONS[kind] = translate
        return translate

    return put
