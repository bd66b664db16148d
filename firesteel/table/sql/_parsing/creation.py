"""CREATE, REPLACE and DROP."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.table.sql._parsing.definitions import DefinitionParser
from firesteel.table.sql.nodes.base import Position, Statement
from firesteel.table.sql.nodes.ddl import (
    CreateCatalog,
    CreateConnection,
    CreateDatabase,
    CreateFunction,
    CreateMaterializedTable,
    CreateModel,
    CreateTable,
    CreateView,
    Drop,
    ReplaceTable,
    Resource,
    StartMode,
)
from firesteel.table.sql.nodes.expressions import DateTimeLiteral, IntervalLiteral

_START_MODES = (
    "FROM_BEGINNING",
    "FROM_NOW",
    "FROM_TIMESTAMP",
    "RESUME_OR_FROM_BEGINNING",
    "RESUME_OR_FROM_NOW",
    "RESUME_OR_FROM_TIMESTAMP",
)
LANGUAGES = ("JAVA", "SCALA", "SQL", "PYTHON")


class CreationParser(DefinitionParser):
    """Reads statements that make and remove."""

    _replace = False
    _temporary = False

    def create(self) -> Statement:
        """CREATE of anything."""
        start = self.expect("CREATE").pos
        self._replace = self.accept_sequence("OR", "REPLACE")
        self._temporary = self.accept("TEMPORARY")
        if self.at_sequence("OR", "ALTER"):
            return self._create_materialized_table(start)
        readers: dict[str, Callable[[Position], Statement]] = {
            "CATALOG": self._create_catalog,
            "MATERIALIZED": self._create_materialized_table,
            "TABLE": self._create_table,
            "VIEW": self._create_view,
            "DATABASE": self._create_database,
            "MODEL": self._create_model,
            "FUNCTION": self._create_function,
            "CONNECTION": self._create_connection,
            "SYSTEM": self._create_system,
        }
        if not self.at(*readers):
            raise self.unexpected()
        return readers[self.token.text](start)

    def _create_system(self, start: Position) -> Statement:
        if not self._temporary:
            raise self.error("what is of the SYSTEM can only be made TEMPORARY")
        if self.is_word(self.ahead(1), "CONNECTION"):
            return self._create_connection(start)
        return self._create_function(start)

    def _create_catalog(self, start: Position) -> Statement:
        self.expect("CATALOG")
        exists = self.if_not_exists()
        name = self.name()
        comment = self.comment()
        return CreateCatalog(name, comment, self.with_options(), exists, pos=self.since(start))

    def _create_database(self, start: Position) -> Statement:
        self.expect("DATABASE")
        exists = self.if_not_exists()
        name = self.identifier()
        comment = self.comment()
        return CreateDatabase(name, comment, self.with_options(), exists, pos=self.since(start))

    def _create_table(self, start: Position) -> Statement:
        replace, temporary = self._replace, self._temporary
        self.expect("TABLE")
        exists = self.if_not_exists()
        table = self.table_definition(self.identifier())
        like, query = None, None
        if self.accept("LIKE"):
            like = self.table_like()
        elif self.accept("AS"):
            query = self.query()
        if query is None and table.schema is not None and table.schema.names:
            raise self.error("columns without types are for CREATE TABLE ... AS only", table.name.pos)
        or_replace = replace and query is not None
        return CreateTable(table, like, query, temporary, exists, or_replace, pos=self.since(start))

    def replace_table(self) -> Statement:
        """``REPLACE TABLE t AS query``."""
        start = self.expect("REPLACE").pos
        temporary = self.accept("TEMPORARY")
        self.expect("TABLE")
        exists = self.if_not_exists()
        table = self.table_definition(self.identifier())
        self.expect("AS")
        return ReplaceTable(table, self.query(), temporary, exists, pos=self.since(start))

    def _create_materialized_table(self, start: Position) -> Statement:
        or_alter = self.accept_sequence("OR", "ALTER")
        place = self.expect("MATERIALIZED").pos
        if self._temporary:
            raise self.error("a materialized table cannot be TEMPORARY", place)
        if self._replace:
            raise self.error("a materialized table cannot be replaced: it is written CREATE OR ALTER", place)
        self.expect("TABLE")
        table = self.table_definition(self.identifier())
        start_mode = self._start_mode() if self.accept("START_MODE") else None
        freshness, mode = None, None
        if self.accept("FRESHNESS"):
            self.expect("=")
            freshness = self.interval_only("FRESHNESS")
        if self.accept("REFRESH_MODE"):
            self.expect("=")
            mode = self.one_of("FULL", "CONTINUOUS")
        self.expect("AS")
        query = self.query()
        return CreateMaterializedTable(table, query, freshness, mode, start_mode, or_alter, pos=self.since(start))

    def _start_mode(self) -> StartMode:
        self.expect("=")
        start = self.token.pos
        mode = self.one_of(*_START_MODES)
        argument: IntervalLiteral | DateTimeLiteral | None = None
        if mode.endswith("NOW") and self.at("("):
            argument = self.in_parentheses(lambda: self.interval_only("the distance to now"))
        elif mode.endswith("TIMESTAMP"):
            argument = self.in_parentheses(self._timestamp)
        return StartMode(mode, argument, pos=self.since(start))

    def _timestamp(self) -> DateTimeLiteral:
        start = self.token.pos
        found = self.literal_or_none()
        if not isinstance(found, DateTimeLiteral) or not found.kind.startswith("TIMESTAMP"):
            raise self.error("a TIMESTAMP '...' is needed here", start)
        return found

    def _create_view(self, start: Position) -> Statement:
        replace, temporary = self._replace, self._temporary
        self.expect("VIEW")
        exists = self.if_not_exists()
        name = self.identifier()
        columns = self.names_in_parentheses() if self.at("(") else ()
        comment = self.comment()
        self.expect("AS")
        query = self.query()
        return CreateView(name, query, columns, comment, temporary, exists, replace, pos=self.since(start))

    def _create_function(self, start: Position) -> Statement:
        replace, temporary, system = self._replace, self._temporary, self.accept("SYSTEM")
        self.expect("FUNCTION")
        exists = self.if_not_exists()
        name = self.simple_identifier() if system else self.identifier()
        self.expect("AS")
        class_name = self.string()
        language = self.language()
        resources: tuple[Resource, ...] = ()
        if self.accept("USING"):
            resources = self._resources(language)
        options = self.with_options()
        pos = self.since(start)
        return CreateFunction(
            name, class_name, language, resources, options, temporary, system, exists, replace, pos=pos
        )

    def language(self) -> str | None:
        """``LANGUAGE PYTHON``, or nothing."""
        return self.one_of(*LANGUAGES) if self.accept("LANGUAGE") else None

    def _resources(self, language: str | None) -> tuple[Resource, ...]:
        return self.comma_separated(lambda: self._resource(language))

    def _resource(self, language: str | None) -> Resource:
        start = self.token.pos
        kind = self.one_of("JAR", "ARTIFACT")
        if language in ("SQL", "PYTHON"):
            raise self.error(f"a function in {language} uses no {kind}", start)
        return Resource(kind, self.string(), pos=self.since(start))

    def _create_model(self, start: Position) -> Statement:
        temporary = self._temporary
        self.expect("MODEL")
        exists = self.if_not_exists()
        name = self.identifier()
        inputs = self.columns() if self.accept("INPUT") else None
        outputs = self.columns() if self.accept("OUTPUT") else None
        comment = self.comment()
        options = self.with_options()
        query = self.query() if self.accept("AS") else None
        pos = self.since(start)
        return CreateModel(name, inputs, outputs, comment, options, query, temporary, exists, pos=pos)

    def _create_connection(self, start: Position) -> Statement:
        temporary, system = self._temporary, self.accept("SYSTEM")
        self.expect("CONNECTION")
        exists = self.if_not_exists()
        name = self.identifier()
        comment = self.comment()
        self.expect("WITH")
        return CreateConnection(name, comment, self.options(), temporary, system, exists, pos=self.since(start))

    # --- DROP ---

    def drop(self) -> Statement:
        """DROP of anything."""
        start = self.expect("DROP").pos
        temporary = self.accept("TEMPORARY")
        kind, system = self._dropped_kind(temporary)
        exists = self.if_exists()
        name = self.identifier()
        cascade = None
        if kind == "DATABASE" and self.at("RESTRICT", "CASCADE"):
            cascade = self.next().text == "CASCADE"
        return Drop(kind, name, exists, temporary, system, cascade, pos=self.since(start))

    def _dropped_kind(self, temporary: bool) -> tuple[str, bool]:
        place = self.token.pos
        if self.accept("SYSTEM"):
            kind = self.one_of("FUNCTION", "CONNECTION")
            if kind == "CONNECTION" and not temporary:
                raise self.error("a SYSTEM connection is always TEMPORARY", place)
            return kind, True
        kind = self.one_of("CATALOG", "MATERIALIZED", "TABLE", "VIEW", "DATABASE", "MODEL", "FUNCTION", "CONNECTION")
        if kind == "MATERIALIZED":
            if temporary:
                raise self.error("a materialized table is never TEMPORARY", place)
            self.expect("TABLE")
            kind = "MATERIALIZED TABLE"
        return kind, False
