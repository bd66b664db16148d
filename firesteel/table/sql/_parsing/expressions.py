"""Expressions: operators by their precedence, as Flink has it, and what they are made of."""

from __future__ import annotations

from abc import abstractmethod
from enum import Enum

from firesteel.table.sql._parsing.literals import NUMBERS, LiteralParser
from firesteel.table.sql._parsing.types import UNITS
from firesteel.table.sql.keywords import CONTEXT_VARIABLES, FUNCTION_NAMES
from firesteel.table.sql.lexer import KEYWORD, STRING
from firesteel.table.sql.nodes.base import Expression, Identifier, Position, Query
from firesteel.table.sql.nodes.expressions import (
    Between,
    Case,
    Constructor,
    ContextVariable,
    Cursor,
    FieldAccess,
    FunctionCall,
    Infix,
    InList,
    InQuery,
    IntervalExpression,
    Item,
    Like,
    NewObject,
    Parameter,
    Postfix,
    Prefix,
    Quantified,
    Row,
    SequenceValue,
    Star,
    Subquery,
    When,
)
from firesteel.table.sql.operators import (
    COMPARISON,
    COMPARISONS,
    INFIX,
    ITEM,
    MULTISET,
    POSTFIX,
    PREDICATE,
    PREFIXES,
)

_LIKES = ("LIKE", "ILIKE", "RLIKE", "SIMILAR")
_TESTS = ("NULL", "TRUE", "FALSE", "UNKNOWN", "EMPTY")
_ITEM_MODES = ("OFFSET", "ORDINAL", "SAFE_OFFSET", "SAFE_ORDINAL")


class Context(Enum):
    """What may stand at a place: a query, an expression, both; a query with or without parentheses around it."""

    QUERY = "query"
    QUERY_OR_JOIN = "query or join"
    EXPRESSION = "expression"  # and no query at all
    SUB_QUERY = "expression, or a query in parentheses"
    ANY = "expression or query"
    CURSOR = "expression, cursor, or a query in parentheses"
    ANY_OR_CURSOR = "expression, cursor or query"

    def in_parentheses(self) -> Context:
        """What may stand at a place once a parenthesis is open."""
        return {Context.SUB_QUERY: Context.ANY, Context.CURSOR: Context.ANY_OR_CURSOR}.get(self, self)

    @property
    def only_queries(self) -> bool:
        """Whether expressions are wrong here."""
        return self in (Context.QUERY, Context.QUERY_OR_JOIN)

    @property
    def no_queries(self) -> bool:
        """Whether a query without parentheses is wrong here."""
        return self in (Context.EXPRESSION, Context.SUB_QUERY, Context.CURSOR)


def as_expression(found: Expression | Query) -> Expression:
    """A query becomes a sub-query where an operand is needed."""
    return Subquery(found, pos=found.pos) if isinstance(found, Query) else found


class ExpressionParser(LiteralParser):
    """Reads expressions; what calls look like is for the class below it."""

    _parameters = 0

    @abstractmethod
    def call_or_none(self) -> Expression | None:
        """A call of a function with a syntax of its own, if one is next."""

    @abstractmethod
    def function_call(self) -> Expression:
        """A call of a function by its name."""

    @abstractmethod
    def routine_call(self, context: Context) -> FunctionCall:
        """A call of a function, procedure or constructor, with nothing behind its parentheses."""

    @abstractmethod
    def member_call(self, start: Position, name: Identifier) -> Expression:
        """The parentheses of a call on a value."""

    @abstractmethod
    def query_or_expression(self, context: Context) -> Expression | Query:
        """A query with its ORDER BY, or an expression."""

    def expression(self, context: Context = Context.SUB_QUERY) -> Expression:
        """An expression, or a query in parentheses as one."""
        return as_expression(self.query_in_parentheses_or_expression(context))

    def query_in_parentheses_or_expression(self, context: Context) -> Expression | Query:
        """An expression; or a query, if there is nothing but one in parentheses."""
        return self._operators(context, 0, False)

    def expressions(self, context: Context = Context.SUB_QUERY) -> tuple[Expression, ...]:
        """Expressions, separated by commas."""
        first = self.expression(context)
        rest = []
        while self.accept(","):
            rest.append(self.expression())
        return (first, *rest)

    # --- operators ---

    def _operators(self, context: Context, minimum: int, until_and: bool) -> Expression | Query:
        start = self.token.pos
        left = self._operand(context, until_and)
        while True:
            found = self._operator(context, as_expression(left), start, minimum, until_and)
            if found is None:
                return left
            left = found

    def _right(self, precedence: int, until_and: bool) -> Expression:
        return as_expression(self._operators(Context.SUB_QUERY, precedence + 1, until_and))

    def _operand(self, context: Context, until_and: bool) -> Expression | Query:
        start = self.token.pos
        if not self.at(*PREFIXES):
            return self._members(self._primary(context), start)
        self._no_query_expected(context)
        operator = self.next().text
        operand = as_expression(self._operators(context, PREFIXES[operator], until_and))
        return Prefix(operator, operand, pos=self.since(start))

    def _members(self, found: Expression | Query, start: Position) -> Expression | Query:
        while self.is_word(self.token, ".") and self.is_name(self.ahead(1)):
            self.next()
            name = self.simple_identifier()
            member: Expression = self.member_call(start, name) if self.at("(") else name
            found = FieldAccess(as_expression(found), member, pos=self.since(start))
        return found

    def _operator(
        self, context: Context, left: Expression, start: Position, minimum: int, until_and: bool
    ) -> Expression | None:
        for reader in (self._infix, self._predicate, self._postfix, self._item):
            found = reader(left, start, minimum, until_and)
            if found is not None:
                self._no_query_expected(context)
                return found
        return None

    def _infix(self, left: Expression, start: Position, minimum: int, until_and: bool) -> Expression | None:
        operator, precedence, words = self._infix_operator()
        if operator is None or precedence < minimum or (until_and and operator == "AND"):
            return None
        for _ in range(words):
            self.next()
        if operator in COMPARISONS and self.at("SOME", "ANY", "ALL"):
            return None if minimum > PREDICATE else self._quantified(operator, left, start)
        return Infix(operator, left, self._right(precedence, until_and), pos=self.since(start))

    def _infix_operator(self) -> tuple[str | None, int, int]:
        if self.is_word(self.token, "!="):
            raise self.error("Flink's SQL has no !=, it is written <>")
        if self.at(*INFIX):
            return self.token.text, INFIX[self.token.text], 1
        for words in (("IS", "DISTINCT", "FROM"), ("IS", "NOT", "DISTINCT", "FROM"), ("MEMBER", "OF")):
            if self.at_sequence(*words):
                return " ".join(words), COMPARISON, len(words)
        for words in (("SUBMULTISET", "OF"), ("NOT", "SUBMULTISET", "OF")):
            if self.at_sequence(*words):
                return " ".join(words), COMPARISON, len(words)
        for words in (("IMMEDIATELY", "PRECEDES"), ("IMMEDIATELY", "SUCCEEDS")):
            if self.at_sequence(*words):
                return " ".join(words), COMPARISON, len(words)
        if self.at("MULTISET") and self.is_word(self.ahead(1), *MULTISET):
            kind = self.ahead(1).text
            words_after = 3 if self.is_word(self.ahead(2), "ALL", "DISTINCT") else 2
            distinct = " DISTINCT" if self.is_word(self.ahead(2), "DISTINCT") else ""
            return f"MULTISET {kind}{distinct}", MULTISET[kind], words_after
        return None, 0, 0

    def _quantified(self, operator: str, left: Expression, start: Position) -> Expression:
        quantifier = {"ANY": "SOME"}.get(self.token.text, self.token.text)
        self.next()
        found = self.list_in_parentheses(Context.ANY)
        values: tuple[Expression, ...] | Query = tuple(as_expression(each) for each in found)
        if len(found) == 1 and isinstance(found[0], Query):
            values = found[0]
        return Quantified(operator, quantifier, left, values, pos=self.since(start))

    def _predicate(self, left: Expression, start: Position, minimum: int, until_and: bool) -> Expression | None:
        negated = self.at("NOT")
        word = self.ahead(1) if negated else self.token
        self._ask("IN", "BETWEEN", *_LIKES)
        if minimum > PREDICATE or not self.is_word(word, "IN", "BETWEEN", *_LIKES):
            return None
        self.accept("NOT")
        operator = self.next().text
        if operator == "IN":
            return self._in(left, start, negated)
        if operator == "BETWEEN":
            return self._between(left, start, negated, until_and)
        if operator == "SIMILAR":
            self.expect("TO")
            operator = "SIMILAR TO"
        # Of two LIKEs in a row the second one is read first: a LIKE (b LIKE c).
        pattern = as_expression(self._operators(Context.SUB_QUERY, PREDICATE, until_and))
        escape = as_expression(self._primary(Context.SUB_QUERY)) if self.accept("ESCAPE") else None
        return Like(operator, left, pattern, escape, negated, pos=self.since(start))

    def _in(self, left: Expression, start: Position, negated: bool) -> Expression:
        found = self.list_in_parentheses(Context.ANY)
        if len(found) == 1 and isinstance(found[0], Query):
            return InQuery(left, found[0], negated, pos=self.since(start))
        return InList(left, tuple(as_expression(each) for each in found), negated, pos=self.since(start))

    def _between(self, left: Expression, start: Position, negated: bool, until_and: bool) -> Expression:
        symmetric = self.at("SYMMETRIC")
        self.accept("SYMMETRIC", "ASYMMETRIC")
        lower = as_expression(self._operators(Context.SUB_QUERY, 0, True))
        self.expect("AND")
        upper = self._right(PREDICATE, until_and)
        return Between(left, lower, upper, negated, symmetric, pos=self.since(start))

    def _postfix(self, left: Expression, start: Position, minimum: int, until_and: bool) -> Expression | None:
        if minimum > POSTFIX or not (self.at("IS") or self.at_sequence("FORMAT", "JSON")):
            return None
        if self.accept("FORMAT"):
            operator = "FORMAT " + self._json_representation()
        else:
            self.next()
            operator = "IS NOT " if self.accept("NOT") else "IS "
            operator += self._test()
        return Postfix(operator, left, pos=self.since(start))

    def _test(self) -> str:
        if self.accept("A"):
            self.expect("SET")
            return "A SET"
        if self.accept("JSON"):
            kinds = ("VALUE", "OBJECT", "ARRAY", "SCALAR")
            return f"JSON {self.next().text}" if self.at(*kinds) else "JSON VALUE"
        return self.one_of(*_TESTS)

    def _json_representation(self) -> str:
        self.expect("JSON")
        if self.at("ENCODING") and self.is_word(self.ahead(1), "UTF8", "UTF16", "UTF32"):
            self.next()
            return f"JSON ENCODING {self.next().text}"
        return "JSON"

    def _item(self, left: Expression, start: Position, minimum: int, until_and: bool) -> Expression | None:
        if minimum > ITEM or not self.accept("["):
            return None
        mode = self.next().text if self.at(*_ITEM_MODES) else None
        index = self.expression()
        self.expect("]")
        found: Expression = Item(left, index, mode, pos=self.since(start))
        while self.is_word(self.token, ".") and self.is_name(self.ahead(1)):
            self.next()
            found = FieldAccess(found, self.simple_identifier(), pos=self.since(start))
        return found

    # --- what operators stand between ---

    def list_in_parentheses(self, context: Context) -> tuple[Expression | Query, ...]:
        """``(a, b)``, or ``(query)``."""
        self.expect("(")
        found: list[Expression | Query] = [self.query_or_expression(context.in_parentheses())]
        while self.accept(","):
            self._no_query_expected(context)
            found.append(self.expression(context))
        self.expect(")")
        return tuple(found)

    def _primary(self, context: Context) -> Expression | Query:
        found = self.atom_or_none()
        if found is not None:
            self._no_query_expected(context, found)
            return found
        start = self.token.pos
        if self.at("CURSOR"):
            return self._cursor(context)
        if self.accept("ROW"):
            values = tuple(as_expression(each) for each in self.list_in_parentheses(context))
            return Row(values, pos=self.since(start))
        if not self.at("("):
            raise self.unexpected()
        return self._parenthesized(context)

    def _parenthesized(self, context: Context) -> Expression | Query:
        start = self.token.pos
        found = self.list_in_parentheses(context)
        if self.at(*UNITS):
            return self._minus_dates(found, start)
        if len(found) == 1:
            return found[0]
        return Row(tuple(as_expression(each) for each in found), pos=self.since(start))

    def _minus_dates(self, found: tuple[Expression | Query, ...], start: Position) -> Expression:
        """``(a - b) DAY``: the distance of two points in time."""
        if len(found) != 1 or not isinstance(found[0], Infix) or found[0].operator != "-":
            raise self.error("a unit of time stands only behind a difference, as in (a - b) DAY", start)
        return IntervalExpression(found[0], self.interval_qualifier(), pos=self.since(start))

    def _cursor(self, context: Context) -> Expression:
        start = self.next().pos
        if context not in (Context.CURSOR, Context.ANY_OR_CURSOR):
            raise self.error("CURSOR stands only where a table function has an argument", start)
        query = self.query_in_parentheses_or_expression(Context.QUERY)
        if not isinstance(query, Query):
            raise self.error("CURSOR needs a query", start)
        return Cursor(query, pos=self.since(start))

    def atom_or_none(self) -> Expression | None:
        """A literal, a name, a call, a constructor, a CASE, if one is next."""
        if self.at("INTERVAL"):
            return self._interval()
        found = self.literal_or_none()
        if found is None:
            found = self.call_or_none()
        if found is None:
            found = self._constructor()
        return self._named() if found is None else found

    def _interval(self) -> Expression:
        start = self.next().pos
        negative = self.at("-")
        self.accept("+", "-")
        if self.at_kind(STRING):
            return self.interval_literal_rest(start, negative)
        value: Expression
        if self.at("("):
            value = self.in_parentheses(self.expression)
        elif self.at_kind(*NUMBERS):
            value = self.unsigned_number()
        else:
            value = self.identifier()
        if negative:
            value = Prefix("-", value, pos=self.since(start))
        return IntervalExpression(value, self.interval_qualifier(allow_range=False), pos=self.since(start))

    def _constructor(self) -> Expression | None:
        start = self.token.pos
        if self.accept("?"):
            self._parameters += 1
            return Parameter(self._parameters - 1, pos=start)
        if self.at("CASE"):
            return self._case()
        if self.at("ARRAY", "MULTISET") or (self.at("MAP") and self.is_word(self.ahead(1), "[", "(")):
            return self._collection_constructor()
        if self.at_sequence("PERIOD", "("):
            return self._period()
        if self.at_sequence("NEXT", "VALUE") or self.at_sequence("CURRENT", "VALUE"):
            which = self.next().text
            self.expect_sequence("VALUE", "FOR")
            return SequenceValue(which, self.identifier(), pos=self.since(start))
        return None

    def _collection_constructor(self) -> Expression:
        start = self.token.pos
        kind = self.next().text
        if self.accept("["):
            values = () if self.at("]") and kind != "MULTISET" else self.expressions(Context.EXPRESSION)
            self.expect("]")
            return Constructor(kind, values, pos=self.since(start))
        if kind != "MULTISET" and self.accept_sequence("(", ")"):
            return Constructor(kind, (), pos=self.since(start))
        found = self.list_in_parentheses(Context.QUERY if kind == "MULTISET" else Context.ANY)
        if len(found) == 1 and isinstance(found[0], Query):
            return Constructor(kind, found[0], pos=self.since(start))
        return Constructor(kind, tuple(as_expression(each) for each in found), pos=self.since(start))

    def _period(self) -> Expression:
        start = self.next().pos
        self.expect("(")
        first = self.expression()
        self.expect(",")
        second = self.expression()
        self.expect(")")
        return Constructor("PERIOD", (first, second), pos=self.since(start))

    def _case(self) -> Expression:
        start = self.next().pos
        operand = None if self.at("WHEN") else self.expression()
        branches: list[When] = []
        while self.at("WHEN") or not branches:
            begin = self.expect("WHEN").pos
            conditions = self.expressions()
            self.expect("THEN")
            branches.append(When(conditions, self.expression(), pos=self.since(begin)))
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        return Case(operand, tuple(branches), otherwise, pos=self.since(start))

    def _named(self) -> Expression | None:
        token = self.token
        if self.at("SPECIFIC", *FUNCTION_NAMES) and (token.text == "SPECIFIC" or self.is_word(self.ahead(1), "(")):
            return self.function_call()
        if self.at(*CONTEXT_VARIABLES):
            return ContextVariable(self.next().text, pos=token.pos)
        if self.accept("NEW"):
            return NewObject(self.routine_call(Context.SUB_QUERY), pos=self.since(token.pos))
        if not self.at_name():
            return None
        if self._name_before_parenthesis():
            return self.function_call()
        return self.column()

    def _name_before_parenthesis(self) -> bool:
        offset = 1
        while self.is_word(self.ahead(offset), ".") and self.is_name(self.ahead(offset + 1)):
            offset += 2
        return self.is_word(self.ahead(offset), "(")

    def column(self) -> Expression:
        """``a.b.c``, or ``a.b.*``."""
        found = self.identifier()
        if self.is_word(self.token, ".") and self.is_word(self.ahead(1), "*"):
            self.next()
            self.next()
            return Star(found.parts, pos=self.since(found.pos or self.token.pos))
        return found

    def _no_query_expected(self, context: Context, found: Expression | None = None) -> None:
        if context.only_queries:
            pos = found.pos if found is not None else None
            raise self.error("a query is needed here, not an expression", pos)

    def keyword(self) -> str:
        """The next token if it is a keyword, else nothing."""
        return self.token.text if self.token.kind == KEYWORD else ""
