"""Parts of definitions: columns, constraints, watermarks, options, partitions."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.table.sql._parsing.expressions import Context
from firesteel.table.sql._parsing.tables import TableParser
from firesteel.table.sql.nodes.base import Expression, Identifier, Option, TypeNode
from firesteel.table.sql.nodes.ddl import (
    Column,
    ComputedColumn,
    Constraint,
    Distribution,
    LikeOption,
    MetadataColumn,
    PartitionValue,
    PhysicalColumn,
    TableDefinition,
    TableLike,
    TableSchema,
    Watermark,
)
from firesteel.table.sql.nodes.expressions import IntervalLiteral

_FEATURES = ("ALL", "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")


@dataclass
class SchemaParts:
    """What has been read of a schema so far."""

    columns: list[Column] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    watermark: Watermark | None = None

    def schema(self) -> TableSchema:
        """All of it."""
        return TableSchema(tuple(self.columns), tuple(self.constraints), self.watermark)


class DefinitionParser(TableParser):
    """Reads what definitions are made of."""

    def if_exists(self) -> bool:
        """``IF EXISTS``, or nothing."""
        return self.accept_sequence("IF", "EXISTS")

    def if_not_exists(self) -> bool:
        """``IF NOT EXISTS``, or nothing."""
        return self.accept_sequence("IF", "NOT", "EXISTS")

    def comment(self) -> str | None:
        """``COMMENT 'text'``, or nothing."""
        return self.string() if self.accept("COMMENT") else None

    def with_options(self) -> tuple[Option, ...]:
        """``WITH ('key' = 'value')``, or nothing."""
        return self.options() if self.accept("WITH") else ()

    def options(self) -> tuple[Option, ...]:
        """``('key' = 'value')``, or empty parentheses."""
        if self.accept_sequence("(", ")"):
            return ()
        return self.in_parentheses(lambda: self.comma_separated(self._option))

    def _option(self) -> Option:
        key = self.option_string()
        self.expect("=")
        return key, self.option_string()

    def option_keys(self) -> tuple[str, ...]:
        """``('key')``, or empty parentheses."""
        if self.accept_sequence("(", ")"):
            return ()
        return self.in_parentheses(lambda: self.comma_separated(self.option_string))

    # --- schemas ---

    def schema(self) -> TableSchema | None:
        """The columns of a table, or only their names, in parentheses; or nothing."""
        if not self.at("("):
            return None
        start = self.token.pos
        if self.is_name(self.ahead(1)) and self.is_word(self.ahead(2), ",", ")"):
            names = self.in_parentheses(lambda: self.comma_separated(self.identifier))
            return TableSchema(names=names, pos=self.since(start))
        return self.columns()

    def columns(self) -> TableSchema:
        """The columns of a table or a model, in parentheses."""
        parts = SchemaParts()
        self.in_parentheses(lambda: self.comma_separated(lambda: self._schema_part(parts)))
        return parts.schema()

    def _schema_part(self, parts: SchemaParts) -> None:
        if self.at("CONSTRAINT", "PRIMARY", "UNIQUE"):
            parts.constraints.append(self.table_constraint())
        elif self.at("WATERMARK"):
            self.watermark(parts)
        else:
            parts.columns.append(self.column_definition())

    def column_definition(self) -> Column:
        """A column of any kind."""
        start = self.token.pos
        name = self.identifier()
        if len(name.parts) == 1 and self.accept("AS"):
            expression = self.expression(Context.EXPRESSION)
            return ComputedColumn(name, expression, self.comment(), pos=self.since(start))
        kind = self.column_type()
        if self.accept("METADATA"):
            return self._metadata_column(name, kind)
        constraint = self._column_constraint() if self.at("CONSTRAINT", "PRIMARY", "UNIQUE") else None
        return PhysicalColumn(name, kind, constraint, self.comment(), pos=self.since(start))

    def _metadata_column(self, name: Identifier, kind: TypeNode) -> Column:
        key = self.option_string() if self.accept("FROM") else None
        virtual = self.accept("VIRTUAL")
        return MetadataColumn(name, kind, key, virtual, self.comment(), pos=self.since(name.pos or self.token.pos))

    def _column_constraint(self) -> Constraint:
        start = self.token.pos
        name, kind = self._constraint_head()
        return Constraint(kind, (), name, self._enforcement(), pos=self.since(start))

    def table_constraint(self) -> Constraint:
        """``[CONSTRAINT name] PRIMARY KEY (a, b) [NOT ENFORCED]``."""
        start = self.token.pos
        name, kind = self._constraint_head()
        columns = self.names_in_parentheses()
        return Constraint(kind, columns, name, self._enforcement(), pos=self.since(start))

    def _constraint_head(self) -> tuple[str | None, str]:
        name = self.name() if self.accept("CONSTRAINT") else None
        if self.one_of("PRIMARY", "UNIQUE") == "UNIQUE":
            return name, "UNIQUE"
        self.expect("KEY")
        return name, "PRIMARY KEY"

    def _enforcement(self) -> bool | None:
        if self.accept("ENFORCED"):
            return True
        if self.accept("NOT"):
            self.expect("ENFORCED")
            return False
        return None

    def watermark(self, parts: SchemaParts) -> None:
        """``WATERMARK FOR a AS expression``, of which there is one at most."""
        start = self.token.pos
        self.expect_sequence("WATERMARK", "FOR")
        column = self.identifier()
        self.expect("AS")
        expression = self.expression(Context.EXPRESSION)
        if parts.watermark is not None:
            raise self.error("a table has one WATERMARK at most", start)
        parts.watermark = Watermark(column, expression, pos=self.since(start))

    # --- what follows a schema ---

    def table_definition(self, name: Identifier) -> TableDefinition:
        """Everything between a table's name and LIKE or AS."""
        schema = self.schema()
        comment = self.comment()
        distribution = self.distribution() if self.accept("DISTRIBUTED") else None
        partitioned: tuple[str, ...] = ()
        if self.accept("PARTITIONED"):
            self.expect("BY")
            partitioned = self.names_in_parentheses()
        options = self.with_options()
        return TableDefinition(name, schema, comment, distribution, partitioned, options)

    def distribution(self) -> Distribution:
        """``BY HASH (a) INTO 4 BUCKETS``, or ``INTO 4 BUCKETS``."""
        start = self.token.pos
        if self.at("INTO"):
            return Distribution(buckets=self._buckets(), pos=self.since(start))
        self.expect("BY")
        kind = self.next().text if self.at("HASH", "RANGE") else None
        columns = self.names_in_parentheses()
        buckets = self._buckets() if self.at("INTO") else None
        return Distribution(columns, kind, buckets, pos=self.since(start))

    def _buckets(self) -> int:
        self.expect("INTO")
        number = self.unsigned_number()
        if not number.text.isdecimal():
            raise self.error("the number of buckets is a positive integer", number.pos)
        self.expect("BUCKETS")
        return int(number.text)

    def table_like(self) -> TableLike:
        """``t (INCLUDING ALL)`` behind LIKE."""
        start = self.token.pos
        table = self.identifier()
        options: list[LikeOption] = []
        if self.accept("("):
            while not options or not self.at(")"):
                strategy = self.one_of("INCLUDING", "EXCLUDING", "OVERWRITING")
                options.append(LikeOption(strategy, self.one_of(*_FEATURES)))
            self.expect(")")
        return TableLike(table, tuple(options), pos=self.since(start))

    # --- partitions ---

    def partition_values(self) -> tuple[PartitionValue, ...]:
        """``(a = 1, b = 'x')``."""
        return self.in_parentheses(lambda: self.comma_separated(self._partition_value))

    def _partition_value(self) -> PartitionValue:
        start = self.token.pos
        column = self.name()
        self.expect("=")
        return PartitionValue(column, self.literal(), pos=self.since(start))

    def partial_partition_values(self) -> tuple[PartitionValue, ...]:
        """``(a = 1, b)``."""
        return self.in_parentheses(lambda: self.comma_separated(self._partial_partition_value))

    def _partial_partition_value(self) -> PartitionValue:
        start = self.token.pos
        column = self.name()
        value: Expression | None = self.literal() if self.accept("=") else None
        return PartitionValue(column, value, pos=self.since(start))

    def interval_only(self, what: str) -> IntervalLiteral:
        """An expression that must be an interval."""
        start = self.token.pos
        found = self.expression(Context.EXPRESSION)
        if not isinstance(found, IntervalLiteral):
            raise self.error(f"{what} is an interval, as INTERVAL '1' HOUR", start)
        return found
