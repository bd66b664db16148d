"""The JSON functions."""

from __future__ import annotations

from firesteel.table.sql._parsing.calls import CallParser
from firesteel.table.sql._parsing.expressions import Context
from firesteel.table.sql.nodes.base import Expression, Position
from firesteel.table.sql.nodes.expressions import (
    JsonArray,
    JsonBehavior,
    JsonObject,
    JsonPair,
    JsonPassing,
    JsonRead,
    OrderItem,
)


class JsonCallParser(CallParser):
    """Reads calls of JSON functions."""

    def json_call_or_none(self) -> Expression | None:
        word = self.keyword()
        if word in ("JSON_EXISTS", "JSON_VALUE", "JSON_QUERY"):
            return self._json_read()
        if word in ("JSON_OBJECT", "JSON_OBJECTAGG"):
            return self._json_object()
        if word == "JSON_ARRAY":
            return self._json_array()
        return self._json_array_aggregate() if word == "JSON_ARRAYAGG" else None

    def _json_value(self) -> Expression:
        return self.expression(Context.EXPRESSION)

    def _json_read(self) -> Expression:
        token = self.next()
        self.expect("(")
        document = self._json_value()
        self.expect(",")
        path = self._json_value()
        passing = self.comma_separated(self._passing) if self.accept("PASSING") else ()
        returning, wrapper = None, None
        behaviors: list[JsonBehavior] = []
        if token.text == "JSON_EXISTS":
            if self.at("TRUE", "FALSE", "UNKNOWN", "ERROR"):
                behaviors.append(self._exists_behavior())
        else:
            returning = self.cast_type() if self.accept("RETURNING") else None
            if token.text == "JSON_QUERY" and self.at("WITH", "WITHOUT"):
                wrapper = self._wrapper()
            while not self.at(")"):
                behaviors.append(self._behavior(token.text))
        self.expect(")")
        return JsonRead(
            token.text, document, path, passing, returning, wrapper, tuple(behaviors), pos=self.since(token.pos)
        )

    def _passing(self) -> JsonPassing:
        start = self.token.pos
        value = self._json_value()
        self.expect("AS")
        return JsonPassing(value, self.name(), pos=self.since(start))

    def _exists_behavior(self) -> JsonBehavior:
        start = self.token.pos
        action = self.next().text
        self.expect_sequence("ON", "ERROR")
        return JsonBehavior(action, "ERROR", pos=self.since(start))

    def _behavior(self, function: str) -> JsonBehavior:
        start = self.token.pos
        default = None
        if function == "JSON_VALUE":
            action = self.one_of("ERROR", "NULL", "DEFAULT")
            default = self._json_value() if action == "DEFAULT" else None
        else:
            action = self.one_of("ERROR", "NULL", "EMPTY")
            if action == "EMPTY":
                action = f"EMPTY {self.one_of('ARRAY', 'OBJECT')}"
        self.expect("ON")
        return JsonBehavior(action, self.one_of("EMPTY", "ERROR"), default, pos=self.since(start))

    def _wrapper(self) -> str:
        wrapper = "WITHOUT"
        if self.next().text == "WITH":
            wrapper = "CONDITIONAL" if self.accept("CONDITIONAL") else "UNCONDITIONAL"
            if wrapper == "UNCONDITIONAL":
                self.accept("UNCONDITIONAL")
        self.accept("ARRAY")
        self.expect("WRAPPER")
        return wrapper

    def _json_object(self) -> Expression:
        token = self.next()
        self.expect("(")
        pairs: tuple[JsonPair, ...] = ()
        if token.text == "JSON_OBJECTAGG":
            pairs = (self._pair(),)
        elif not self.at(")") and not self._null_clause_follows():
            pairs = self.comma_separated(self._pair)
        on_null = self._on_null()
        self.expect(")")
        return JsonObject(token.text, pairs, on_null, pos=self.since(token.pos))

    def _pair(self) -> JsonPair:
        start = self.token.pos
        with_key = self.at("KEY") and not self.is_word(self.ahead(1), "VALUE", ":", ".", ")", ",")
        if with_key:
            self.next()
        key = self._json_value()
        if self.expect("VALUE", ":").text == ":" and with_key:
            raise self.error("after KEY comes VALUE, not a colon", start)
        return JsonPair(key, self._json_value(), pos=self.since(start))

    def _null_clause_follows(self) -> bool:
        return self.at_sequence("NULL", "ON") or self.at_sequence("ABSENT", "ON")

    def _on_null(self) -> str | None:
        if not self._null_clause_follows():
            return None
        which = self.next().text
        self.expect_sequence("ON", "NULL")
        return which

    def _json_array(self) -> Expression:
        token = self.next()
        self.expect("(")
        values: tuple[Expression, ...] = ()
        if not self.at(")") and not self.at_sequence("ABSENT", "ON"):
            values = self.comma_separated(self._json_value)
        on_null = self._on_null()
        self.expect(")")
        return JsonArray(token.text, values, on_null, pos=self.since(token.pos))

    def _json_array_aggregate(self) -> Expression:
        token = self.next()
        self.expect("(")
        value = self._json_value()
        order = self.order_by() if self.at("ORDER") else ()
        on_null = self._on_null()
        self.expect(")")
        group = self._within_group(token.pos, bool(order)) if self.accept("WITHIN") else ()
        return JsonArray(token.text, (value,), on_null, order, group, pos=self.since(token.pos))

    def _within_group(self, start: Position, ordered: bool) -> tuple[OrderItem, ...]:
        self.expect("GROUP")
        group = self.in_parentheses(self.order_by)
        if ordered:
            raise self.error("JSON_ARRAYAGG is ordered twice: by ORDER BY and by WITHIN GROUP", start)
        return group
