"""What may stand in FROM: tables, joins, functions, PIVOT, MATCH_RECOGNIZE."""

from __future__ import annotations

from firesteel.table.sql._parsing.expressions import Context, as_expression
from firesteel.table.sql._parsing.patterns import PatternParser
from firesteel.table.sql.nodes.base import Position, Query, TableReference
from firesteel.table.sql.nodes.expressions import FunctionCall, Row
from firesteel.table.sql.nodes.queries import (
    Aliased,
    DerivedTable,
    Join,
    Pivot,
    PivotItem,
    Sample,
    Snapshot,
    Table,
    TableFunction,
    Unnest,
    Unpivot,
    UnpivotItem,
)

_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS")


class TableParser(PatternParser):
    """Reads FROM clauses."""

    def from_clause(self) -> TableReference:
        start = self.token.pos
        found = self.table_reference(Context.QUERY_OR_JOIN)
        while True:
            if self.accept(","):
                right = self.table_reference(Context.QUERY_OR_JOIN)
                found = Join(found, right, "COMMA", pos=self.since(start))
                continue
            joined = self._join(found, start)
            if joined is None:
                return found
            found = joined

    def _join(self, left: TableReference, start: Position) -> TableReference | None:
        natural = self.at("NATURAL") and self.is_word(self.ahead(1), *_JOINS)
        if natural:
            self.next()
        if not self.at(*_JOINS):
            return None
        kind = self._join_kind()
        right = self.table_reference(Context.QUERY_OR_JOIN)
        condition = None
        using: tuple[str, ...] = ()
        if self.accept("ON"):
            condition = self.expression()
        elif self.accept("USING"):
            using = self.names_in_parentheses()
        return Join(left, right, kind, condition, using, natural, pos=self.since(start))

    def _join_kind(self) -> str:
        kind = self.next().text
        if kind == "JOIN":
            return "INNER"
        if kind in ("LEFT", "RIGHT", "FULL"):
            self.accept("OUTER")
        self.expect("JOIN")
        return kind

    def table_reference(self, context: Context = Context.QUERY) -> TableReference:
        """One table of a FROM clause, with its alias."""
        start = self.token.pos
        found = self._table(context)
        if self.at_sequence("PIVOT", "("):
            found = self._pivot(self._not_a_join(found), start)
        if self.at("UNPIVOT"):
            found = self._unpivot(self._not_a_join(found), start)
        found = self._alias(found, start)
        if self.accept("TABLESAMPLE"):
            found = self._sample(self._not_a_join(found), start)
        return found

    def _alias(self, table: TableReference, start: Position) -> TableReference:
        if not (self.accept("AS") or self.at_name()):
            return table
        alias = self.name()
        columns = self.names_in_parentheses() if self.at("(") else ()
        return Aliased(self._not_a_join(table), alias, columns, pos=self.since(start))

    def _not_a_join(self, table: TableReference) -> TableReference:
        if isinstance(table, Join):
            raise self.error("a join in parentheses cannot have a name of its own", table.pos)
        return table

    def _table(self, context: Context) -> TableReference:
        start = self.token.pos
        if self.at_name():
            return self._named_table(start)
        lateral = self.at("LATERAL")
        if lateral:
            self.next()
        if self.at("("):
            found = self.query_in_parentheses(context)
            table = DerivedTable(found, lateral, pos=self.since(start)) if isinstance(found, Query) else found
            if lateral:
                self._not_a_join(table)
            return self.match_recognize_or(table, start)
        if self.accept("UNNEST"):
            return self._unnest(start)
        if self.at("TABLE"):
            return self._table_function(start, lateral)
        raise self.unexpected()

    def _named_table(self, start: Position) -> TableReference:
        name = self.identifier()
        if self.at("("):
            if self.is_word(self.ahead(1), "SELECT"):
                raise self.error("a query is given to a function in parentheses of its own", self.ahead(1).pos)
            call = self.routine_arguments(name, start, Context.CURSOR)
            return TableFunction(call, pos=self.since(start))
        table: TableReference = Table(name, self.hints(), pos=self.since(start))
        if self.is_word(self.token, "EXTEND"):
            raise self.error("Flink's SQL has no EXTEND")
        if self.accept("FOR"):
            self.expect_sequence("SYSTEM_TIME", "AS", "OF")
            table = Snapshot(table, self.expression(Context.EXPRESSION), pos=self.since(start))
        return self.match_recognize_or(table, start)

    def query_in_parentheses(self, context: Context) -> Query | TableReference:
        start = self.expect("(").pos
        found = self._query_or_join(start)
        self.expect(")")
        if not isinstance(found, Query) and (context == Context.QUERY or not isinstance(found, Join)):
            raise self.error("only a query or a join stands in parentheses here", start)
        return found

    def _query_or_join(self, start: Position) -> Query | TableReference:
        if self.at("WITH", "SELECT", "VALUES", "VALUE") or self._explicit_table_follows():
            begin = self.token.pos
            return self.ordered(self.unordered_query(Context.QUERY), begin)
        begin = self.token.pos
        found = self.table_reference(Context.QUERY_OR_JOIN)
        joined: TableReference | None = found
        while joined is not None:
            found = joined
            joined = self._join(found, begin)
        if isinstance(found, DerivedTable) and not found.lateral:
            return self.set_operations(found.query, Context.QUERY, begin)
        return found

    def _explicit_table_follows(self) -> bool:
        return self.at("TABLE") and self.is_name(self.ahead(1))

    def _unnest(self, start: Position) -> TableReference:
        values = tuple(as_expression(each) for each in self.list_in_parentheses(Context.SUB_QUERY))
        ordinality = self.accept_sequence("WITH", "ORDINALITY")
        return Unnest(values, ordinality, pos=self.since(start))

    def _table_function(self, start: Position, lateral: bool) -> TableReference:
        self.expect_sequence("TABLE", "(")
        specific = self.accept("SPECIFIC")
        call = self.routine_call(Context.CURSOR)
        self.expect(")")
        if specific:
            call = FunctionCall(call.name, call.arguments, specific=True, pos=call.pos)
        return TableFunction(call, lateral, pos=self.since(start))

    def _sample(self, table: TableReference, start: Position) -> TableReference:
        method = self.one_of("SUBSTITUTE", "BERNOULLI", "SYSTEM")
        if method == "SUBSTITUTE":
            return Sample(table, method, self.in_parentheses(self.any_string), pos=self.since(start))
        rate = self.in_parentheses(self.unsigned_number)
        seed = self.in_parentheses(self._seed) if self.accept("REPEATABLE") else None
        return Sample(table, method, rate, seed, pos=self.since(start))

    def _seed(self) -> int:
        negative = self.at("-")
        self.accept("+", "-")
        value = self.unsigned_integer()
        return -value if negative else value

    # --- PIVOT ---

    def _pivot(self, table: TableReference, start: Position) -> TableReference:
        self.expect_sequence("PIVOT", "(")
        aggregates = self.comma_separated(self._pivot_aggregate)
        self.expect("FOR")
        axes = self.name_or_names()
        self.expect_sequence("IN", "(")
        values = () if self.at(")") else self.comma_separated(self._pivot_value)
        self.expect_sequence(")", ")")
        return Pivot(table, aggregates, axes, values, pos=self.since(start))

    def _pivot_aggregate(self) -> PivotItem:
        start = self.token.pos
        call = self.function_call()
        return PivotItem(call, self._optional_alias(), pos=self.since(start))

    def _pivot_value(self) -> PivotItem:
        start = self.token.pos
        row = self.row_constructor()
        return PivotItem(row, self._optional_alias(), pos=self.since(start))

    def _optional_alias(self) -> str | None:
        return self.name() if self.accept("AS") or self.at_name() else None

    def _unpivot(self, table: TableReference, start: Position) -> TableReference:
        self.expect("UNPIVOT")
        nulls = None
        if self.at("INCLUDE", "EXCLUDE"):
            nulls = self.next().text == "INCLUDE"
            self.expect("NULLS")
        self.expect("(")
        measures = self.name_or_names()
        self.expect("FOR")
        axes = self.name_or_names()
        self.expect_sequence("IN", "(")
        items = self.comma_separated(self._unpivot_item)
        self.expect_sequence(")", ")")
        return Unpivot(table, measures, axes, items, nulls, pos=self.since(start))

    def _unpivot_item(self) -> UnpivotItem:
        start = self.token.pos
        columns = self.name_or_names()
        values: Row | None = self.row_constructor() if self.accept("AS") else None
        return UnpivotItem(columns, values, pos=self.since(start))
