"""ALTER."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.table.sql._parsing.creation import CreationParser
from firesteel.table.sql._parsing.definitions import SchemaParts
from firesteel.table.sql.nodes.base import Identifier, Statement
from firesteel.table.sql.nodes.ddl import (
    AddPartitions,
    Alter,
    AlterAction,
    AlterFunction,
    AlterQuery,
    ChangeDistribution,
    ChangeSchema,
    ColumnPosition,
    DropColumns,
    DropPart,
    DropPartitions,
    Partition,
    Refresh,
    RenameColumn,
    RenameTo,
    ResetOptions,
    Resume,
    SetComment,
    SetFreshness,
    SetOptions,
    SetRefreshMode,
    Suspend,
)
from firesteel.table.sql.nodes.statements import AlterScope


class AlterationParser(CreationParser):
    """Reads statements that change."""

    def alter(self) -> Statement:
        """ALTER of anything."""
        start = self.expect("ALTER").pos
        if self.at("FUNCTION", "TEMPORARY"):
            return self._alter_function()
        if self.at("SYSTEM", "SESSION"):
            return self._alter_scope()
        kind = self.one_of("CATALOG", "DATABASE", "TABLE", "MATERIALIZED", "VIEW", "MODEL", "CONNECTION")
        if kind == "MATERIALIZED":
            self.expect("TABLE")
            kind = "MATERIALIZED TABLE"
        exists = self.if_exists() if kind in ("TABLE", "MODEL", "CONNECTION") else False
        name = self.simple_identifier() if kind == "CATALOG" else self.identifier()
        readers: dict[str, Callable[[], AlterAction]] = {
            "CATALOG": self._catalog_action,
            "DATABASE": self._database_action,
            "TABLE": self._table_action,
            "MATERIALIZED TABLE": self._materialized_table_action,
            "VIEW": self._view_action,
            "MODEL": self._model_action,
            "CONNECTION": self._model_action,
        }
        action = readers[kind]()
        return Alter(kind, name, action, exists, pos=self.since(start))

    def _alter_function(self) -> Statement:
        start = self.token.pos
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        self.expect("FUNCTION")
        exists = self.if_exists()
        name = self.identifier()
        self.expect("AS")
        class_name = self.string()
        return AlterFunction(name, class_name, self.language(), temporary, system, exists, pos=self.since(start))

    def _alter_scope(self) -> Statement:
        start = self.token.pos
        scope = self.next().text
        if self.one_of("SET", "RESET") == "RESET":
            name = None if self.accept("ALL") else self.identifier()
            return AlterScope(scope, name, pos=self.since(start))
        option = self.identifier()
        self.expect("=")
        if self.at("ON"):
            token = self.next()
            return AlterScope(scope, option, Identifier(("ON",), pos=token.pos), pos=self.since(start))
        value = self.simple_identifier() if self.at_name() else self.literal()
        return AlterScope(scope, option, value, pos=self.since(start))

    def _catalog_action(self) -> AlterAction:
        if self.accept("COMMENT"):
            return SetComment(self.string())
        return self._options_action("COMMENT")

    def _database_action(self) -> AlterAction:
        self.expect("SET")
        return SetOptions(self.options())

    def _view_action(self) -> AlterAction:
        if self.accept("AS"):
            return AlterQuery(self.query())
        self.expect_sequence("RENAME", "TO")
        return RenameTo(self.identifier())

    def _model_action(self) -> AlterAction:
        if self.accept("RENAME"):
            self.expect("TO")
            return RenameTo(self.identifier())
        return self._options_action("RENAME")

    def _options_action(self, *others: str) -> AlterAction:
        if self.expect("SET", "RESET").text == "SET":
            return SetOptions(self.options())
        return ResetOptions(self.option_keys())

    def _table_action(self) -> AlterAction:
        if self.accept_sequence("RENAME", "TO"):
            return RenameTo(self.identifier())
        if self.accept("RENAME"):
            old = self.identifier()
            self.expect("TO")
            return RenameColumn(old, self.identifier())
        if self.accept("ADD"):
            if self.at("PARTITION") or self.at_sequence("IF", "NOT"):
                return self._add_partitions()
            return self._schema_action("ADD")
        if self.accept("MODIFY"):
            return self._schema_action("MODIFY")
        if self.accept("DROP"):
            if self.at("PARTITION") or self.at_sequence("IF", "EXISTS"):
                return self._drop_partitions()
            return self._drop_action()
        return self._options_action()

    def _materialized_table_action(self) -> AlterAction:
        if self.accept("SUSPEND"):
            return Suspend()
        if self.accept("RESUME"):
            return Resume(self.with_options())
        if self.accept("REFRESH"):
            return Refresh(self.partition_values() if self.accept("PARTITION") else ())
        if self.accept("AS"):
            return AlterQuery(self.query())
        if self.at("ADD", "MODIFY"):
            return self._schema_action(self.next().text)
        if self.accept("DROP"):
            return self._drop_action()
        if self.accept("RESET"):
            return ResetOptions(self.option_keys())
        self.expect("SET")
        return self._set_materialized_table()

    def _set_materialized_table(self) -> AlterAction:
        if self.accept("FRESHNESS"):
            self.expect("=")
            return SetFreshness(self.interval_only("FRESHNESS"))
        if self.accept("REFRESH_MODE"):
            self.expect("=")
            return SetRefreshMode(self.one_of("FULL", "CONTINUOUS"))
        return SetOptions(self.options())

    # --- ADD, MODIFY, DROP ---

    def _schema_action(self, verb: str) -> AlterAction:
        if self.accept("DISTRIBUTION"):
            return ChangeDistribution(verb, self.distribution())
        parts = SchemaParts()
        positions: list[ColumnPosition] = []
        if self.at("("):
            self.in_parentheses(lambda: self.comma_separated(lambda: self._changed_part(parts, positions)))
        else:
            self._changed_part(parts, positions)
        return ChangeSchema(verb, tuple(positions), tuple(parts.constraints), parts.watermark)

    def _changed_part(self, parts: SchemaParts, positions: list[ColumnPosition]) -> None:
        if self.at("CONSTRAINT", "PRIMARY", "UNIQUE"):
            parts.constraints.append(self.table_constraint())
        elif self.at("WATERMARK"):
            self.watermark(parts)
        else:
            start = self.token.pos
            column = self.column_definition()
            after = self.identifier() if self.accept("AFTER") else None
            first = after is None and self.accept("FIRST")
            positions.append(ColumnPosition(column, first, after, pos=self.since(start)))

    def _drop_action(self) -> AlterAction:
        if self.accept("PRIMARY"):
            self.expect("KEY")
            return DropPart("PRIMARY KEY")
        if self.accept("CONSTRAINT"):
            return DropPart("CONSTRAINT", self.name())
        if self.at("DISTRIBUTION", "WATERMARK"):
            return DropPart(self.next().text)
        if self.at("("):
            return DropColumns(self.in_parentheses(lambda: self.comma_separated(self.identifier)))
        return DropColumns((self.identifier(),))

    def _add_partitions(self) -> AlterAction:
        exists = self.if_not_exists()
        partitions: list[Partition] = []
        while self.at("PARTITION") or not partitions:
            start = self.expect("PARTITION").pos
            values = self.partition_values()
            options = self.options() if self.accept("WITH") else None
            partitions.append(Partition(values, options, pos=self.since(start)))
        return AddPartitions(tuple(partitions), exists)

    def _drop_partitions(self) -> AlterAction:
        exists = self.if_exists()
        return DropPartitions(self.comma_separated(self._dropped_partition), exists)

    def _dropped_partition(self) -> Partition:
        start = self.expect("PARTITION").pos
        return Partition(self.partition_values(), pos=self.since(start))
