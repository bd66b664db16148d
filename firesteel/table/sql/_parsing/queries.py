"""Queries: SELECT with its clauses, set operations, WITH, ORDER BY."""

from __future__ import annotations

from abc import abstractmethod

from firesteel.table.sql._parsing.expressions import Context, as_expression
from firesteel.table.sql._parsing.json_calls import JsonCallParser
from firesteel.table.sql.lexer import STRING
from firesteel.table.sql.nodes.base import Expression, Position, Query, TableReference
from firesteel.table.sql.nodes.expressions import (
    DefaultValue,
    FrameBound,
    OrderItem,
    Parameter,
    Row,
    Star,
    StringLiteral,
    WindowSpecification,
)
from firesteel.table.sql.nodes.queries import (
    CommonTable,
    Cube,
    EmptyGroup,
    ExplicitTable,
    GroupBy,
    GroupingSets,
    Hint,
    NamedWindow,
    OrderedQuery,
    Rollup,
    Select,
    SelectItem,
    SetOperation,
    Values,
    With,
)
from firesteel.table.sql.operators import SET_OPERATORS


class QueryParser(JsonCallParser):
    """Reads queries; what stands in FROM is for the class below it."""

    @abstractmethod
    def from_clause(self) -> TableReference:
        """What follows FROM."""

    @abstractmethod
    def query_in_parentheses(self, context: Context) -> Query | TableReference:
        """A query, or, where the context allows it, a join, in parentheses."""

    def query(self) -> Query:
        """A query where nothing else may stand."""
        start = self.token.pos
        found = self.query_or_expression(Context.QUERY)
        if not isinstance(found, Query):
            raise self.error("a query is needed here, not an expression", start)
        return found

    def query_or_expression(self, context: Context) -> Expression | Query:
        start = self.token.pos
        found = self._combined(context, start)
        if not isinstance(found, Query):
            return found
        return self.ordered(found, start)

    def unordered_query(self, context: Context) -> Query:
        """A query that begins with SELECT, VALUES, TABLE or WITH, without ORDER BY."""
        found = self._combined(context, self.token.pos)
        if not isinstance(found, Query):
            raise self.unexpected()
        return found

    def _combined(self, context: Context, start: Position) -> Expression | Query:
        recursive, tables = self._with_clause() if self.at("WITH") else (False, ())
        found = self._leaf_or_expression(context)
        if isinstance(found, Query):
            found = self.set_operations(found, context, start)
        elif tables:
            raise self.error("WITH needs a query behind it", start)
        if tables and isinstance(found, Query):
            return With(tables, found, recursive, pos=self.since(start))
        return found

    def set_operations(self, left: Query, context: Context, start: Position, minimum: int = 1) -> Query:
        """What follows a query: UNION and the like."""
        while self.at(*SET_OPERATORS) and SET_OPERATORS[self.token.text] >= minimum:
            self._no_bare_query(context)
            operator = self.next().text
            everything = self.at("ALL")
            self.accept("ALL", "DISTINCT")
            begin = self.token.pos
            right = self._leaf_query()
            right = self.set_operations(right, Context.QUERY, begin, SET_OPERATORS[operator] + 1)
            left = SetOperation(operator, left, right, everything, pos=self.since(start))
        if self.is_word(self.token, "MINUS"):
            raise self.error("Flink's SQL has no MINUS, it is written EXCEPT")
        return left

    def _leaf_or_expression(self, context: Context) -> Expression | Query:
        if self.at("SELECT", "VALUES", "VALUE", "TABLE"):
            self._no_bare_query(context)
            return self._simple_query()
        return self.query_in_parentheses_or_expression(context)

    def _leaf_query(self) -> Query:
        start = self.token.pos
        found = self._leaf_or_expression(Context.QUERY)
        if not isinstance(found, Query):
            raise self.error("a query is needed here, not an expression", start)
        return found

    def _no_bare_query(self, context: Context) -> None:
        if context.no_queries:
            raise self.error(
                "a query stands here only in parentheses"
                if context != Context.EXPRESSION
                else "no query may stand here"
            )

    def _simple_query(self) -> Query:
        if self.at("SELECT"):
            return self._select()
        start = self.token.pos
        if self.accept("TABLE"):
            return ExplicitTable(self.identifier(), pos=self.since(start))
        self.next()
        rows = self.comma_separated(self.row_constructor)
        return Values(rows, pos=self.since(start))

    def _with_clause(self) -> tuple[bool, tuple[CommonTable, ...]]:
        self.expect("WITH")
        recursive = self.accept("RECURSIVE")
        return recursive, self.comma_separated(self._common_table)

    def _common_table(self) -> CommonTable:
        start = self.token.pos
        name = self.name()
        columns = self.names_in_parentheses() if self.at("(") else ()
        self.expect("AS")
        query = self.query_in_parentheses(Context.QUERY)
        if not isinstance(query, Query):
            raise self.error("a query is needed in WITH", start)
        return CommonTable(name, query, columns, pos=self.since(start))

    # --- SELECT ---

    def _select(self) -> Query:
        start = self.expect("SELECT").pos
        hints = self.hints()
        stream = self.accept("STREAM")
        quantifier = self.next().text if self.at("ALL", "DISTINCT") else None
        items = self.comma_separated(self._select_item)
        if not self.accept("FROM"):
            return Select(items, quantifier=quantifier, stream=stream, hints=hints, pos=self.since(start))
        source = self.from_clause()
        where = self.where()
        group_by = self._group_by() if self.accept("GROUP") else None
        having = self.expression() if self.accept("HAVING") else None
        windows = self.comma_separated(self._named_window) if self.accept("WINDOW") else ()
        qualify = self.expression() if self.accept("QUALIFY") else None
        pos = self.since(start)
        return Select(items, source, where, group_by, having, windows, qualify, quantifier, stream, hints, pos=pos)

    def where(self) -> Expression | None:
        """``WHERE condition``, if it is there."""
        return self.expression() if self.accept("WHERE") else None

    def _select_item(self) -> SelectItem:
        start = self.token.pos
        if self.accept("*"):
            expression: Expression = Star(pos=start)
        else:
            expression = self.expression()
        alias = self.name() if self.accept("AS") or self.at_name() else None
        if alias is None and self.at_kind(STRING):
            raise self.error("a string cannot be the name of a column: names stand between back-ticks")
        return SelectItem(expression, alias, pos=self.since(start))

    def _group_by(self) -> GroupBy:
        self.expect("BY")
        start = self.token.pos
        distinct = self.at("DISTINCT")
        self.accept("DISTINCT", "ALL")
        return GroupBy(self.comma_separated(self._grouping), distinct, pos=self.since(start))

    def _grouping(self) -> Expression:
        start = self.token.pos
        if self.accept_sequence("GROUPING", "SETS"):
            sets = self.in_parentheses(lambda: self.comma_separated(self._grouping))
            return GroupingSets(sets, pos=self.since(start))
        if self.at("ROLLUP", "CUBE"):
            kind = Rollup if self.next().text == "ROLLUP" else Cube
            return kind(self.in_parentheses(self.expressions), pos=self.since(start))
        if self.accept_sequence("(", ")"):
            return EmptyGroup(pos=self.since(start))
        return self.expression()

    def _named_window(self) -> NamedWindow:
        start = self.token.pos
        name = self.name()
        self.expect("AS")
        return NamedWindow(name, self.window_specification(), pos=self.since(start))

    def window_specification(self) -> WindowSpecification:
        start = self.expect("(").pos
        reference = self.name() if self.at_name() else None
        partition: tuple[Expression, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            partition = self.expressions(Context.EXPRESSION)
        order = self.order_by() if self.at("ORDER") else ()
        frame, lower, upper, partial = None, None, None, None
        if self.at("ROWS", "RANGE"):
            frame = self.next().text
            lower, upper = self._frame()
        if self.at("ALLOW", "DISALLOW"):
            partial = self.next().text == "ALLOW"
            self.expect("PARTIAL")
        self.expect(")")
        return WindowSpecification(reference, partition, order, frame, lower, upper, partial, pos=self.since(start))

    def _frame(self) -> tuple[FrameBound, FrameBound | None]:
        if not self.accept("BETWEEN"):
            return self._frame_bound(), None
        lower = self._frame_bound()
        self.expect("AND")
        return lower, self._frame_bound()

    def _frame_bound(self) -> FrameBound:
        start = self.token.pos
        if self.accept_sequence("CURRENT", "ROW"):
            return FrameBound("CURRENT ROW", pos=self.since(start))
        if self.at("UNBOUNDED") and self.is_word(self.ahead(1), "PRECEDING", "FOLLOWING"):
            self.next()
            return FrameBound(self.next().text, pos=self.since(start))
        offset = self.expression(Context.EXPRESSION)
        return FrameBound(self.one_of("PRECEDING", "FOLLOWING"), offset, pos=self.since(start))

    # --- VALUES ---

    def row_constructor(self) -> Row:
        """A row of VALUES."""
        start = self.token.pos
        if self.accept_sequence("(", "ROW", "("):
            values = self._row_values()
            self.expect(")")
            return Row(values, pos=self.since(start))
        if self.accept("(") or self.accept_sequence("ROW", "("):
            return Row(self._row_values(), pos=self.since(start))
        return Row((self.expression(Context.ANY),), pos=self.since(start))

    def _row_values(self) -> tuple[Expression, ...]:
        values = [self._default_or(first=True)]
        while self.accept(","):
            values.append(self._default_or(first=False))
        self.expect(")")
        return tuple(values)

    def _default_or(self, first: bool) -> Expression:
        start = self.token.pos
        if self.accept("DEFAULT"):
            return DefaultValue(pos=start)
        return as_expression(self.query_or_expression(Context.ANY)) if first else self.expression(Context.ANY)

    # --- ORDER BY ---

    def ordered(self, query: Query, start: Position) -> Query:
        """A query with what may follow it: ORDER BY, OFFSET, LIMIT, FETCH."""
        order = self.order_by() if self.at("ORDER") else ()
        offset, fetch = self._limit()
        if not order and offset is None and fetch is None:
            return query
        return OrderedQuery(query, order, offset, fetch, pos=self.since(start))

    def order_by(self) -> tuple[OrderItem, ...]:
        self.expect_sequence("ORDER", "BY")
        return self.comma_separated(self.order_item)

    def order_item(self) -> OrderItem:
        start = self.token.pos
        expression = self.expression()
        descending = self.at("DESC")
        self.accept("ASC", "DESC")
        nulls = None
        if self.accept("NULLS"):
            nulls = self.one_of("FIRST", "LAST") == "FIRST"
        return OrderItem(expression, descending, nulls, pos=self.since(start))

    def _limit(self) -> tuple[Expression | None, Expression | None]:
        offset, fetch = None, None
        if self.accept("LIMIT"):
            fetch = None if self.accept("ALL") else self._count()
            if self.at(","):
                raise self.error("LIMIT has one number; where to begin is said by OFFSET")
            offset = self._offset() if self.at("OFFSET") else None
            return offset, fetch
        if self.at("OFFSET"):
            offset = self._offset()
            if self.at("LIMIT"):
                raise self.error("LIMIT stands before OFFSET")
        if self.accept("FETCH"):
            self.expect("FIRST", "NEXT")
            fetch = self._count()
            self.expect("ROW", "ROWS")
            self.expect("ONLY")
        return offset, fetch

    def _offset(self) -> Expression:
        self.expect("OFFSET")
        count = self._count()
        self.accept("ROW", "ROWS")
        return count

    def _count(self) -> Expression:
        start = self.token.pos
        if self.accept("?"):
            self._parameters += 1
            return Parameter(self._parameters - 1, pos=start)
        return self.unsigned_number()

    # --- hints ---

    def hints(self) -> tuple[Hint, ...]:
        """``/*+ OPTIONS('a' = 'b') */``, if it is there."""
        if not self.accept("/*+"):
            return ()
        found = self.comma_separated(self._hint)
        self.expect("*/")
        return found

    def _hint(self) -> Hint:
        start = self.token.pos
        name = self.name()
        if not self.accept("("):
            return Hint(name, pos=self.since(start))
        hint = Hint(name)
        if self.is_word(self.ahead(1), "=") and not self.at("+", "-"):
            hint = Hint(name, options=self.comma_separated(self._hint_option), pos=start)
        elif self.at_name():
            hint = Hint(name, names=self.comma_separated(self.name), pos=start)
        elif not self.at(")"):
            hint = Hint(name, literals=self.comma_separated(self._hint_literal), pos=start)
        self.expect(")")
        return hint

    def _hint_option(self) -> tuple[str, str]:
        key = self.name() if self.at_name() else self.option_string()
        self.expect("=")
        return key, self.option_string()

    def _hint_literal(self) -> Expression:
        return self.any_string() if self.token.kind == STRING else self.signed_number()

    def option_string(self) -> str:
        """The text of a key or a value of options."""
        literal = self.any_string()
        if not isinstance(literal, StringLiteral):
            raise self.error("a text is needed here", literal.pos)
        return literal.value
