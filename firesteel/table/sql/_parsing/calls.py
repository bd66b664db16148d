"""Calls of functions: by name, with all that may follow, and those with a syntax of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from firesteel.table.sql._parsing.expressions import Context, ExpressionParser, as_expression
from firesteel.table.sql.keywords import FUNCTION_NAMES
from firesteel.table.sql.nodes.base import Expression, Identifier, Position, Query, TypeNode
from firesteel.table.sql.nodes.expressions import (
    Cast,
    DefaultValue,
    Extract,
    FunctionCall,
    JdbcCall,
    ModelReference,
    NamedArgument,
    OrderItem,
    Prefix,
    Star,
    StringLiteral,
    TableArgument,
    TimeUnit,
    Transcode,
    Trim,
    WindowSpecification,
)
from firesteel.table.sql.nodes.types import IntervalType

_STRING_AGGREGATES = ("ARRAY_AGG", "ARRAY_CONCAT_AGG", "GROUP_CONCAT", "STRING_AGG")
_PERCENTILES = ("PERCENTILE_CONT", "PERCENTILE_DISC")
_DIFFERENCES = ("DATE_DIFF", "DATETIME_DIFF", "TIMESTAMP_DIFF", "TIME_DIFF")  # the unit is the last argument
_UNIT_FIRST = ("TIMESTAMPADD", "TIMESTAMPDIFF")
_TRUNCATIONS = ("DATE_TRUNC", "DATETIME_TRUNC", "TIMESTAMP_TRUNC", "TIME_TRUNC")
_NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT")
_GROUP_WINDOWS = ("TUMBLE", "HOP", "SESSION")
_DATE_CONSTRUCTORS = ("DATE", "TIME", "DATETIME", "TIMESTAMP")
_TIME_UNITS = (
    *("NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DOW", "DOY", "ISODOW", "ISOYEAR"),
    *("WEEK", "MONTH", "QUARTER", "YEAR", "EPOCH", "DECADE", "CENTURY", "MILLENNIUM"),
)
_WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_TYPES = (
    *("INTERVAL", "VARCHAR", "CHARACTER", "INT", "INTEGER", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "REAL"),
    *("DECIMAL", "NUMERIC", "BOOLEAN", "STRING", "BYTES", "BINARY", "VARBINARY"),
)
_JDBC_NAMES = ("INSERT", "LEFT", "RIGHT", "TRUNCATE", "SUBSTRING")


class CallParser(ExpressionParser):
    """Reads calls; JSON functions and the clauses of queries are for the classes below it."""

    @abstractmethod
    def order_by(self) -> tuple[OrderItem, ...]:
        """``ORDER BY a, b DESC``."""

    @abstractmethod
    def order_item(self) -> OrderItem:
        """``a DESC NULLS LAST``."""

    @abstractmethod
    def window_specification(self) -> WindowSpecification:
        """What stands in the parentheses of OVER."""

    @abstractmethod
    def json_call_or_none(self) -> Expression | None:
        """A call of a JSON function, if one is next."""

    # --- by name ---

    def function_call(self) -> Expression:
        start = self.token.pos
        specific = self.accept("SPECIFIC")
        if not specific and self.at(*_STRING_AGGREGATES):
            call = self._string_aggregate()
        elif not specific and self.at(*_PERCENTILES):
            call = self._percentile()
        else:
            name = self._function_name()
            quantifier, arguments = self._parameters_in_parentheses(Context.SUB_QUERY)
            call = FunctionCall(name, arguments, quantifier, specific=specific)
        return self._aggregate_clauses(call, start)

    def _function_name(self) -> Identifier:
        if self.at(*FUNCTION_NAMES):
            token = self.next()
            return Identifier((token.image,), pos=token.pos)
        return self.identifier()

    def _aggregate_clauses(self, call: FunctionCall, start: Position) -> FunctionCall:
        nulls = call.null_treatment
        if nulls is None:
            nulls = self._null_treatment()
        distinct: tuple[Expression, ...] = ()
        group: tuple[OrderItem, ...] = ()
        if self.accept_sequence("WITHIN", "DISTINCT"):
            distinct = self.in_parentheses(self.expressions)
        if self.accept("WITHIN"):
            self.expect("GROUP")
            group = self.in_parentheses(self.order_by)
        condition = self.in_parentheses(self._where) if self.accept("FILTER") else None
        over = self._over() if self.accept("OVER") else None
        return FunctionCall(
            call.name,
            call.arguments,
            call.quantifier,
            call.order_by,
            call.separator,
            nulls,
            distinct,
            group,
            condition,
            over,
            call.specific,
            pos=self.since(start),
        )

    def _where(self) -> Expression:
        self.expect("WHERE")
        return self.expression()

    def _over(self) -> str | WindowSpecification:
        return self.window_specification() if self.at("(") else self.name()

    def _null_treatment(self) -> str | None:
        if not (self.at_sequence("IGNORE", "NULLS") or self.at_sequence("RESPECT", "NULLS")):
            return None
        which = self.next().text
        self.next()
        return f"{which} NULLS"

    def _string_aggregate(self) -> FunctionCall:
        name = Identifier((self.next().image,))
        self.expect("(")
        quantifier = self.next().text if self.at("ALL", "DISTINCT") else None
        arguments = self.comma_separated(lambda: self._argument(Context.SUB_QUERY))
        nulls = self._null_treatment()
        order = self.order_by() if self.at("ORDER") else ()
        separator = None
        if self.accept("SEPARATOR"):
            literal = self.any_string()
            separator = literal.value if isinstance(literal, StringLiteral) else ""
        self.expect(")")
        return FunctionCall(name, arguments, quantifier, order, separator, nulls)

    def _percentile(self) -> FunctionCall:
        name = Identifier((self.next().image,))
        self.expect("(")
        arguments = [self._argument(Context.SUB_QUERY)]
        nulls = None
        if self.accept(","):
            arguments.append(self.signed_number())
            nulls = self._null_treatment()
        self.expect(")")
        return FunctionCall(name, tuple(arguments), null_treatment=nulls)

    def member_call(self, start: Position, name: Identifier) -> Expression:
        quantifier, arguments = self._parameters_in_parentheses(Context.SUB_QUERY)
        return FunctionCall(name, arguments, quantifier, pos=self.since(start))

    def routine_call(self, context: Context) -> FunctionCall:
        start = self.token.pos
        name = self.identifier()
        return self.routine_arguments(name, start, context)

    def routine_arguments(self, name: Identifier, start: Position, context: Context) -> FunctionCall:
        """The parentheses of a call of a table function or a procedure."""
        self.expect("(")
        arguments: tuple[Expression, ...] = () if self.at(")") else self._arguments(context)
        self.expect(")")
        return FunctionCall(name, arguments, pos=self.since(start))

    def _parameters_in_parentheses(self, context: Context) -> tuple[str | None, tuple[Expression, ...]]:
        self.expect("(")
        star = self.token.pos
        if self.accept("*"):
            self.expect(")")
            return None, (Star(pos=star),)
        if self.accept(")"):
            return None, ()
        return self._required_parameters(context)

    def _required_parameters(self, context: Context) -> tuple[str | None, tuple[Expression, ...]]:
        quantifier = self.next().text if self.at("ALL", "DISTINCT") else None
        arguments = self._arguments(context)
        self.expect(")")
        return quantifier, arguments

    def _arguments(self, context: Context) -> tuple[Expression, ...]:
        arguments = [self._first_argument(context)]
        while self.accept(","):
            arguments.append(self._argument(context))
        return tuple(arguments)

    def _first_argument(self, context: Context) -> Expression:
        return self._maybe_named(lambda: self._first_value(context))

    def _argument(self, context: Context) -> Expression:
        return self._maybe_named(lambda: self._value(context))

    def _maybe_named(self, read: Callable[[], Expression]) -> Expression:
        start = self.token.pos
        if not (self.at_name() and self.is_word(self.ahead(1), "=>")):
            return read()
        name = self.name()
        self.next()
        return NamedArgument(name, read(), pos=self.since(start))

    def _value(self, context: Context) -> Expression:
        start = self.token.pos
        if self.accept("DEFAULT"):
            return DefaultValue(pos=start)
        return self._table_argument() if self.at("TABLE") else self.expression(context)

    def _first_value(self, context: Context) -> Expression:
        start = self.token.pos
        if self.accept("DEFAULT"):
            return DefaultValue(pos=start)
        if self.at("TABLE"):
            return self._table_argument()
        found = self.query_or_expression(context.in_parentheses())
        if not self.at("PARTITION", "ORDER"):
            return as_expression(found)
        if not isinstance(found, Query):
            raise self.error("PARTITION BY stands only behind a table or a query")
        return self._table_clauses(found, start)

    def _table_argument(self) -> Expression:
        start = self.expect("TABLE").pos
        return self._table_clauses(self.identifier(), start)

    def _table_clauses(self, table: Identifier | Query, start: Position) -> Expression:
        partition: tuple[str, ...] = ()
        order: tuple[OrderItem, ...] = ()
        if self.accept("PARTITION"):
            self.expect("BY")
            partition = self.name_or_names()
        if self.accept("ORDER"):
            self.expect("BY")
            order = self._table_order()
        return TableArgument(table, partition, order, pos=self.since(start))

    def _table_order(self) -> tuple[OrderItem, ...]:
        if self.at("("):
            return self.in_parentheses(lambda: self.comma_separated(self.order_item))
        return (self.order_item(),)

    # --- with a syntax of their own ---

    def call_or_none(self) -> Expression | None:
        word = self.keyword()
        if word == "MODEL" and self.is_name(self.ahead(1)):
            start = self.next().pos
            return ModelReference(self.identifier(), pos=self.since(start))
        if word in ("RUNNING", "FINAL") and self._function_follows():
            return self._measured()
        if word == "{FN" or (self.token.text == "{FN" and self.at("{FN")):
            return self._jdbc_call()
        if not self.is_word(self.ahead(1), "("):
            return None
        reader = self._readers().get(word)
        return reader() if reader is not None else self.json_call_or_none()

    def _readers(self) -> dict[str, Callable[[], Expression]]:
        readers: dict[str, Callable[[], Expression]] = {
            **dict.fromkeys(("CAST", "TRY_CAST", "SAFE_CAST"), self._cast),
            **dict.fromkeys(("FLOOR", "CEIL", "CEILING"), self._floor),
            **dict.fromkeys(_UNIT_FIRST, self._unit_first),
            **dict.fromkeys(_DIFFERENCES, self._difference),
            **dict.fromkeys(_TRUNCATIONS, self._truncation),
            **dict.fromkeys(_NAVIGATION, self._navigation),
            **dict.fromkeys(_GROUP_WINDOWS, self._group_window),
            **dict.fromkeys(_DATE_CONSTRUCTORS, self._date_constructor),
            **dict.fromkeys(("CLASSIFIER", "MATCH_NUMBER"), self._without_arguments),
        }
        readers["EXTRACT"] = self._extract
        readers["POSITION"] = self._position_call
        readers["CONVERT"] = self._convert
        readers["TRANSLATE"] = self._translate
        readers["OVERLAY"] = self._overlay
        readers["SUBSTRING"] = self._substring
        readers["TRIM"] = self._trim
        readers["CONTAINS_SUBSTR"] = self._contains
        return readers

    def _open(self) -> tuple[Identifier, Position]:
        token = self.next()
        self.expect("(")
        return Identifier((token.image,), pos=token.pos), token.pos

    def _call(self, name: Identifier, start: Position, *arguments: Expression | None) -> FunctionCall:
        self.expect(")")
        given = tuple(each for each in arguments if each is not None)
        return FunctionCall(name, given, pos=self.since(start))

    def _function_follows(self) -> bool:
        token = self.ahead(1)
        return self.is_word(token, *_NAVIGATION, *FUNCTION_NAMES, "SPECIFIC") or self.is_name(token)

    def _measured(self) -> Expression:
        token = self.next()
        if self.at("FIRST", "LAST") and self.is_word(self.ahead(1), "("):
            return Prefix(token.text, self._navigation(), pos=self.since(token.pos))
        return Prefix(token.text, self.function_call(), pos=self.since(token.pos))

    def _navigation(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        offset = self.signed_number() if self.accept(",") else None
        return self._call(name, start, operand, offset)

    def _without_arguments(self) -> Expression:
        name, start = self._open()
        return self._call(name, start)

    def _group_window(self) -> Expression:
        name, start = self._open()
        _, arguments = self._required_parameters(Context.SUB_QUERY)
        return FunctionCall(name, arguments, pos=self.since(start))

    def _date_constructor(self) -> Expression:
        name, start = self._open()
        quantifier, arguments = self._required_parameters(Context.SUB_QUERY)
        return FunctionCall(name, arguments, quantifier, pos=self.since(start))

    def _cast(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        self.expect("AS")
        kind = self._cast_target()
        self.expect(")")
        return Cast(name.simple.upper(), operand, kind, pos=self.since(start))

    def _cast_target(self) -> TypeNode:
        start = self.token.pos
        if self.accept("INTERVAL"):
            return IntervalType(self.interval_qualifier(), pos=self.since(start))
        return self.cast_type()

    def _floor(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        unit = self.time_unit() if self.accept("TO") else None
        call = self._call(name, start, operand, unit)
        if self.accept("OVER"):
            return FunctionCall(call.name, call.arguments, over=self._over(), pos=self.since(start))
        return call

    def time_unit(self) -> TimeUnit:
        """``DAY``, ``WEEK(MONDAY)``, or a unit's name that the language does not know."""
        start = self.token.pos
        if not self.at(*_TIME_UNITS):
            return TimeUnit(self.name(), pos=self.since(start))
        name = self.next().text
        if name == "WEEK" and self.at("(") and self.is_word(self.ahead(1), *_WEEKDAYS):
            self.next()
            name = f"WEEK({self.next().text})"
            self.expect(")")
        return TimeUnit(name, pos=self.since(start))

    def _unit_first(self) -> Expression:
        name, start = self._open()
        unit = self.time_unit()
        self.expect(",")
        first = self.expression()
        self.expect(",")
        return self._call(name, start, unit, first, self.expression())

    def _difference(self) -> Expression:
        name, start = self._open()
        first = self.expression()
        self.expect(",")
        second = self.expression()
        self.expect(",")
        return self._call(name, start, first, second, self.time_unit())

    def _truncation(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        self.expect(",")
        if name.simple.upper() == "DATE_TRUNC" and not self.at(*_TIME_UNITS):
            return self._call(name, start, operand, self.expression())
        return self._call(name, start, operand, self.time_unit())

    def _extract(self) -> Expression:
        _, start = self._open()
        unit = self.time_unit()
        self.expect("FROM")
        operand = self.expression()
        self.expect(")")
        return Extract(unit, operand, pos=self.since(start))

    def _position_call(self) -> Expression:
        name, start = self._open()
        searched = self.signed_number() if self.at("+", "-") else self.atom_or_none()
        if searched is None:
            raise self.unexpected()
        self.expect("IN")
        operand = self.expression()
        return self._call(name, start, searched, operand, self.expression() if self.accept("FROM") else None)

    def _convert(self) -> Expression:
        name, start = self._open()
        if self._type_follows():
            return self._converted_type(name, start)
        operand = self.expression()
        if self.expect("USING", ",").text == "USING":
            sets: tuple[str, ...] = (self.name(),)
        else:
            first = self.name()
            self.expect(",")
            sets = (first, self.name())
        self.expect(")")
        return Transcode("CONVERT", operand, sets, pos=self.since(start))

    def _type_follows(self) -> bool:
        """Whether CONVERT begins with a type, as Microsoft's does: a reserved word that begins no expression."""
        return self.at(*_TYPES)

    def _converted_type(self, name: Identifier, start: Position) -> Expression:
        kind = self._cast_target()
        self.expect(",")
        operand = self.expression()
        if self.accept(",") and not self.accept("NULL"):
            self.unsigned_number()
        self.expect(")")
        return Cast("CAST", operand, kind, pos=self.since(start))

    def _translate(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        if self.accept("USING"):
            sets = (self.name(),)
            self.expect(")")
            return Transcode("TRANSLATE", operand, sets, pos=self.since(start))
        others = []
        while self.accept(","):
            others.append(self.expression())
        return self._call(name, start, operand, *others)

    def _overlay(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        self.expect("PLACING")
        placed = self.expression()
        self.expect("FROM")
        begin = self.expression()
        return self._call(name, start, operand, placed, begin, self.expression() if self.accept("FOR") else None)

    def _substring(self) -> Expression:
        name, start = self._open()
        operand = self.expression()
        self.expect("FROM", ",")
        begin = self.expression()
        return self._call(name, start, operand, begin, self.expression() if self.accept("FOR", ",") else None)

    def _contains(self) -> Expression:
        name, start = self._open()
        first = self.expression()
        self.expect(",")
        second = self.expression()
        scope = None
        if self.accept(","):
            self.expect("JSON_SCOPE")
            self.expect("=>")
            scope = NamedArgument("JSON_SCOPE", self.expression())
        return self._call(name, start, first, second, scope)

    def _trim(self) -> Expression:
        _, start = self._open()
        side = self.next().text if self.at("BOTH", "LEADING", "TRAILING") else None
        characters = None if self.at("FROM") else self.expression()
        if self.at("FROM") and side is None and characters is None:
            raise self.error("TRIM needs to know what is trimmed before FROM")
        if self.accept("FROM"):
            operand = self.expression()
            self.expect(")")
            return Trim(operand, side or "BOTH", characters, pos=self.since(start))
        self.expect(")")
        if characters is None:
            raise self.unexpected()
        return Trim(characters, side or "BOTH", pos=self.since(start))

    def _jdbc_call(self) -> Expression:
        start = self.next().pos
        found = self.call_or_none() if self.at(*_UNIT_FIRST, *_DIFFERENCES, *_TRUNCATIONS, "CONTAINS_SUBSTR") else None
        if isinstance(found, FunctionCall):
            call = found
        else:
            name = self._jdbc_name()
            _, arguments = self._parameters_in_parentheses(Context.SUB_QUERY)
            call = FunctionCall(name, arguments, pos=self.since(start))
        self.expect("}")
        return JdbcCall(call, pos=self.since(start))

    def _jdbc_name(self) -> Identifier:
        token = self.token
        if self.at(*_JDBC_NAMES, *FUNCTION_NAMES):
            return Identifier((self.next().image,), pos=token.pos)
        return self.simple_identifier()
