"""SHOW and DESCRIBE."""

from __future__ import annotations

from firesteel.table.sql._parsing.alteration import AlterationParser
from firesteel.table.sql.nodes.base import Identifier, Position, Statement
from firesteel.table.sql.nodes.statements import Describe, DescribeJob, LikeFilter, Show, ShowCreate, ShowCurrent

# What can be listed; and of which of them FROM, LIKE and ILIKE may be said.
_LISTS = [
    "CATALOGS",
    "DATABASES",
    "FUNCTIONS",
    "PROCEDURES",
    "TABLES",
    "VIEWS",
    "MODELS",
    "CONNECTIONS",
    "COLUMNS",
    "MODULES",
    "JARS",
    "JOBS",
]
_WITH_SOURCE = {"DATABASES", "FUNCTIONS", "PROCEDURES", "TABLES", "VIEWS", "MODELS", "CONNECTIONS", "COLUMNS"}
_IGNORING_CASE = {"CATALOGS", "DATABASES", "FUNCTIONS", "PROCEDURES"}
_DESCRIBED = ("CATALOG", "DATABASE", "FUNCTION", "MODEL", "CONNECTION")


class InspectionParser(AlterationParser):
    """Reads statements that show something."""

    def show(self) -> Statement:
        """SHOW of anything."""
        start = self.expect("SHOW").pos
        if self.accept("CURRENT"):
            return ShowCurrent(self.one_of("CATALOG", "DATABASE"), pos=self.since(start))
        if self.accept("CREATE"):
            return self._show_create(start)
        if self.accept("PARTITIONS"):
            table = self.identifier()
            partition = self.partition_values() if self.accept("PARTITION") else ()
            return Show("PARTITIONS", table, partition=partition, pos=self.since(start))
        return self._show_list(start)

    def _show_list(self, start: Position) -> Statement:
        prefix = ""
        if self.at("MATERIALIZED", "USER", "FULL"):
            prefix = self.next().text
        kinds = {"MATERIALIZED": ["TABLES"], "USER": ["FUNCTIONS"], "FULL": ["MODULES"], "": _LISTS}[prefix]
        kind = self.one_of(*kinds)
        source, preposition = self._source(kind) if kind in _WITH_SOURCE else (None, None)
        like = self._like(kind) if kind in _WITH_SOURCE or kind == "CATALOGS" else None
        return Show(f"{prefix} {kind}".strip(), source, preposition, like, pos=self.since(start))

    def _source(self, kind: str) -> tuple[Identifier | None, str | None]:
        if not self.at("FROM", "IN"):
            if kind == "COLUMNS":
                raise self.unexpected()
            return None, None
        preposition = self.next().text
        return self.identifier(), preposition

    def _like(self, kind: str) -> LikeFilter | None:
        words = ("LIKE", "ILIKE") if kind in _IGNORING_CASE else ("LIKE",)
        start = self.token.pos
        negated = self.accept("NOT")
        if not negated and not self.at(*words):
            return None
        ignore_case = self.one_of(*words) == "ILIKE"
        return LikeFilter(self.string(), negated, ignore_case, pos=self.since(start))

    def _show_create(self, start: Position) -> Statement:
        prefix = "OR ALTER " if self.accept_sequence("OR", "ALTER") else ""
        if prefix or self.at("MATERIALIZED"):
            self.expect_sequence("MATERIALIZED", "TABLE")
            return ShowCreate(f"{prefix}MATERIALIZED TABLE", self.identifier(), pos=self.since(start))
        kind = self.one_of("TABLE", "VIEW", "CATALOG", "MODEL", "CONNECTION")
        name = self.simple_identifier() if kind == "CATALOG" else self.identifier()
        return ShowCreate(kind, name, pos=self.since(start))

    def describe(self) -> Statement:
        """DESCRIBE, or DESC, of anything."""
        start = self.token.pos
        full_word = self.expect("DESCRIBE", "DESC").text == "DESCRIBE"
        if self.accept("JOB"):
            return DescribeJob(self.string(), pos=self.since(start))
        if full_word and self.accept("TABLE"):
            table = self.identifier()
            column = self.name() if self.at_name() else None
            return Describe("TABLE", table, column=column, pos=self.since(start))
        kind = self.next().text if self.at(*_DESCRIBED) else "TABLE"
        extended = self.accept("EXTENDED")
        name = self.simple_identifier() if kind == "CATALOG" else self.identifier()
        return Describe(kind, name, extended, pos=self.since(start))
