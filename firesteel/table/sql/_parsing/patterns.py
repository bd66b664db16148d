"""MATCH_RECOGNIZE."""

from __future__ import annotations

from firesteel.table.sql._parsing.expressions import Context
from firesteel.table.sql._parsing.queries import QueryParser
from firesteel.table.sql.nodes.base import Expression, Position, TableReference
from firesteel.table.sql.nodes.expressions import OrderItem
from firesteel.table.sql.nodes.queries import (
    AfterMatch,
    Aliased,
    Definition,
    Join,
    MatchRecognize,
    Measure,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternNode,
    PatternPermutation,
    PatternQuantifier,
    PatternVariable,
    Subset,
)


class PatternParser(QueryParser):
    """Reads MATCH_RECOGNIZE clauses."""

    def match_recognize_or(self, table: TableReference, start: Position) -> TableReference:
        """A table with its MATCH_RECOGNIZE clause, or as it is."""
        as_name = self.is_word(self.token, "AS") and self.is_name(self.ahead(1))
        named = as_name and self.is_word(self.ahead(2), "MATCH_RECOGNIZE")
        if not named and not self.at("MATCH_RECOGNIZE"):
            return table
        if isinstance(table, Join):
            raise self.error("MATCH_RECOGNIZE needs one table, not a join", table.pos)
        if named:
            self.next()
            table = Aliased(table, self.name(), pos=self.since(start))
        return self._match_recognize(table, start)

    def _match_recognize(self, table: TableReference, start: Position) -> TableReference:
        self.expect_sequence("MATCH_RECOGNIZE", "(")
        partition: tuple[Expression, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            partition = self.expressions(Context.EXPRESSION)
        order: tuple[OrderItem, ...] = self.order_by() if self.at("ORDER") else ()
        measures = self.comma_separated(self._measure) if self.accept("MEASURES") else ()
        rows = self._rows_per_match()
        after = self._after_match() if self.at("AFTER") else None
        strict_start, pattern, strict_end = self._pattern_clause()
        within = self.interval_literal() if self.accept("WITHIN") else None
        subsets = self.comma_separated(self._subset) if self.accept("SUBSET") else ()
        self.expect("DEFINE")
        definitions = self.comma_separated(self._definition)
        self.expect(")")
        return MatchRecognize(
            table,
            pattern,
            definitions,
            partition,
            order,
            measures,
            rows,
            after,
            strict_start,
            strict_end,
            within,
            subsets,
            pos=self.since(start),
        )

    def _measure(self) -> Measure:
        start = self.token.pos
        expression = self.expression(Context.EXPRESSION)
        self.expect("AS")
        return Measure(expression, self.name(), pos=self.since(start))

    def _rows_per_match(self) -> str | None:
        if self.accept("ONE"):
            self.expect_sequence("ROW", "PER", "MATCH")
            return "ONE ROW"
        if self.accept("ALL"):
            self.expect_sequence("ROWS", "PER", "MATCH")
            return "ALL ROWS"
        return None

    def _after_match(self) -> AfterMatch:
        start = self.token.pos
        self.expect_sequence("AFTER", "MATCH", "SKIP")
        if self.accept("PAST"):
            self.expect_sequence("LAST", "ROW")
            return AfterMatch("PAST LAST ROW", pos=self.since(start))
        self.expect("TO")
        if self.accept_sequence("NEXT", "ROW"):
            return AfterMatch("TO NEXT ROW", pos=self.since(start))
        kind = "LAST"
        if self.at("FIRST", "LAST") and self.is_name(self.ahead(1)):
            kind = self.next().text
        return AfterMatch(f"TO {kind}", self.name(), pos=self.since(start))

    def _pattern_clause(self) -> tuple[bool, PatternNode, bool]:
        self.expect_sequence("PATTERN", "(")
        strict_start = self.accept("^")
        pattern = self._pattern()
        strict_end = self.accept("$")
        self.expect(")")
        return strict_start, pattern, strict_end

    def _pattern(self) -> PatternNode:
        start = self.token.pos
        left = self._pattern_term()
        while self.accept("|"):
            left = PatternAlternation(left, self._pattern_term(), pos=self.since(start))
        return left

    def _pattern_term(self) -> PatternNode:
        start = self.token.pos
        left = self._pattern_factor()
        while self.at_name() or self.at("(", "{", "PERMUTE"):
            left = PatternConcatenation(left, self._pattern_factor(), pos=self.since(start))
        return left

    def _pattern_factor(self) -> PatternNode:
        start = self.token.pos
        pattern = self._pattern_primary()
        if self.at_sequence("{", "-"):
            excluded = self._pattern_primary()
            return PatternConcatenation(pattern, excluded, pos=self.since(start))
        bounds = self._bounds()
        if bounds is None:
            return pattern
        reluctant = self.accept("?")
        if bounds[0] == bounds[1]:  # a fixed number is neither greedy nor reluctant
            reluctant = False
        return PatternQuantifier(pattern, *bounds, reluctant, pos=self.since(start))

    def _bounds(self) -> tuple[str | None, str | None] | None:
        if self.at("*", "+", "?"):
            bounds: dict[str, tuple[str, str | None]] = {"*": ("0", None), "+": ("1", None), "?": ("0", "1")}
            return bounds[self.next().text]
        if not self.accept("{"):
            return None
        if self.accept(","):
            at_least, at_most = None, self._bound()
        else:
            at_least = self._bound()
            at_most = at_least
            if self.accept(","):
                at_most = None if self.at("}") else self._bound()
        self.expect("}")
        return at_least, at_most

    def _bound(self) -> str | None:
        return self.unsigned_number().text

    def _pattern_primary(self) -> PatternNode:
        start = self.token.pos
        if self.accept("("):
            pattern = self._pattern()
            self.expect(")")
            return pattern
        if self.accept("{"):
            self.expect("-")
            pattern = self._pattern()
            self.expect_sequence("-", "}")
            return PatternExclusion(pattern, pos=self.since(start))
        if self.accept("PERMUTE"):
            patterns = self.in_parentheses(lambda: self.comma_separated(self._pattern))
            return PatternPermutation(patterns, pos=self.since(start))
        return PatternVariable(self.name(), pos=self.since(start))

    def _subset(self) -> Subset:
        start = self.token.pos
        name = self.name()
        self.expect("=")
        members = self.in_parentheses(lambda: self.expressions(Context.EXPRESSION))
        return Subset(name, members, pos=self.since(start))

    def _definition(self) -> Definition:
        start = self.token.pos
        variable = self.name()
        self.expect("AS")
        return Definition(variable, self.expression(), pos=self.since(start))
