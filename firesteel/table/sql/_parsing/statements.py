"""Statements: what decides which one it is, and those that are neither queries nor definitions."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.table.sql._parsing.expressions import Context
from firesteel.table.sql._parsing.inspection import InspectionParser
from firesteel.table.sql.lexer import END, STRING
from firesteel.table.sql.nodes.base import Expression, Identifier, Query, Statement
from firesteel.table.sql.nodes.ddl import CreateTable
from firesteel.table.sql.nodes.statements import (
    AddJar,
    AnalyzeTable,
    Assignment,
    BeginStatementSet,
    Call,
    CompilePlan,
    Delete,
    EndStatementSet,
    Execute,
    ExecutePlan,
    Explain,
    Insert,
    LoadModule,
    Merge,
    MergeInsert,
    QueryStatement,
    ResetOption,
    SetOption,
    StatementSet,
    StopJob,
    Truncate,
    UnloadModule,
    Update,
    Use,
    UseModules,
)

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


class StatementParser(InspectionParser):
    """Reads statements."""

    def statements(self) -> tuple[Statement, ...]:
        """Statements, with a semicolon between them; the last one's may be left out."""
        found = [self.statement()]
        while self.accept(";"):
            if not self.at(";") and self.token.kind != END:
                found.append(self.statement())
        self.expect_end()
        return tuple(found)

    def statement(self) -> Statement:
        """One statement."""
        readers: dict[str, Callable[[], Statement]] = {
            "INSERT": self._insert,
            "UPSERT": self._insert,
            "BEGIN": self._begin,
            "END": self._end,
            "LOAD": self._load,
            "UNLOAD": self._unload,
            "USE": self._use,
            "EXPLAIN": self._explain,
            "COMPILE": self._compile,
            "EXECUTE": self._execute,
            "ADD": self._jar,
            "REMOVE": self._jar,
            "SET": self._set,
            "RESET": self._reset,
            "ANALYZE": self._analyze,
            "STOP": self._stop,
            "TRUNCATE": self._truncate,
            "DELETE": self._delete,
            "UPDATE": self._update,
            "MERGE": self._merge,
            "CALL": self._call_statement,
            "ALTER": self.alter,
            "CREATE": self.create,
            "DROP": self.drop,
            "REPLACE": self.replace_table,
            "SHOW": self.show,
            "DESCRIBE": self.describe,
            "DESC": self.describe,
        }
        if self.at(*readers):
            return readers[self.token.text]()
        return self._query_statement()

    def _query_statement(self) -> Statement:
        start = self.token.pos
        if not self.at("SELECT", "VALUES", "VALUE", "TABLE", "WITH", "("):
            raise self.unexpected()
        return QueryStatement(self.query(), pos=self.since(start))

    # --- changing tables ---

    def _insert(self) -> Statement:
        return self.insert()

    def insert(self) -> Insert:
        """INSERT INTO, INSERT OVERWRITE, UPSERT INTO."""
        start = self.token.pos
        upsert = self.one_of("INSERT", "UPSERT") == "UPSERT"
        overwrite = self.expect("INTO", "OVERWRITE").text == "OVERWRITE"
        if upsert and overwrite:
            raise self.error("OVERWRITE is for INSERT only", start)
        table = self.identifier()
        hints = self.hints()
        partition = self.partition_values() if self.accept("PARTITION") else ()
        columns: tuple[Identifier, ...] = ()
        if self.at("(") and self.is_name(self.ahead(1)):
            columns = self.in_parentheses(lambda: self.comma_separated(self.identifier))
        query = self.query()
        conflict = None
        if self.accept("ON"):
            self.expect_sequence("CONFLICT", "DO")
            conflict = self.one_of("ERROR", "NOTHING", "DEDUPLICATE")
        pos = self.since(start)
        return Insert(table, query, columns, partition, overwrite, upsert, hints, conflict, pos=pos)

    def _delete(self) -> Statement:
        start = self.next().pos
        self.expect("FROM")
        table = self.identifier()
        hints = self.hints()
        alias = self.name() if self.accept("AS") or self.at_name() else None
        return Delete(table, self.where(), alias, hints, pos=self.since(start))

    def _update(self) -> Statement:
        start = self.next().pos
        table = self.identifier()
        hints = self.hints()
        alias = self.name() if self.accept("AS") or self.at_name() else None
        self.expect("SET")
        assignments = self.comma_separated(lambda: self._assignment(self.simple_identifier()))
        return Update(table, assignments, self.where(), alias, hints, pos=self.since(start))

    def _assignment(self, column: Identifier) -> Assignment:
        self.expect("=")
        value: Expression = self.expression()
        return Assignment(column, value)

    def _merge(self) -> Statement:
        start = self.next().pos
        self.expect("INTO")
        table = self.identifier()
        hints = self.hints()
        alias = self.name() if self.accept("AS") or self.at_name() else None
        self.expect("USING")
        source = self.table_reference()
        self.expect("ON")
        condition = self.expression()
        update: tuple[Assignment, ...] = ()
        if self.accept_sequence("WHEN", "MATCHED"):
            self.expect_sequence("THEN", "UPDATE", "SET")
            update = self.comma_separated(lambda: self._assignment(self.identifier()))
        insert = self._merge_insert() if self.at("WHEN") or not update else None
        return Merge(table, source, condition, update, insert, alias, hints, pos=self.since(start))

    def _merge_insert(self) -> MergeInsert:
        start = self.token.pos
        self.expect_sequence("WHEN", "NOT", "MATCHED", "THEN", "INSERT")
        columns = self.names_in_parentheses() if self.at("(") and self.is_name(self.ahead(1)) else ()
        enclosed = self.accept("(")
        self.expect("VALUES")
        values = self.row_constructor()
        if enclosed:
            self.expect(")")
        return MergeInsert(values, columns, pos=self.since(start))

    def _truncate(self) -> Statement:
        start = self.next().pos
        self.expect("TABLE")
        return Truncate(self.identifier(), pos=self.since(start))

    def _call_statement(self) -> Statement:
        start = self.next().pos
        return Call(self.routine_call(Context.SUB_QUERY), pos=self.since(start))

    # --- statement sets and plans ---

    def _begin(self) -> Statement:
        start = self.next().pos
        self.expect_sequence("STATEMENT", "SET")
        return BeginStatementSet(pos=self.since(start))

    def _end(self) -> Statement:
        return EndStatementSet(pos=self.next().pos)

    def _statement_set(self) -> StatementSet:
        start = self.token.pos
        self.expect_sequence("STATEMENT", "SET", "BEGIN")
        inserts: list[Insert] = []
        while not inserts or not self.at("END"):
            inserts.append(self.insert())
            self.expect(";")
        self.expect("END")
        return StatementSet(tuple(inserts), pos=self.since(start))

    def _execute(self) -> Statement:
        start = self.next().pos
        if self.at("PLAN") and self.ahead(1).kind == STRING:
            self.next()
            return ExecutePlan(self.option_string(), pos=self.since(start))
        return Execute(self._executable(), pos=self.since(start))

    def _executable(self) -> Statement:
        if self.at("STATEMENT"):
            return self._statement_set()
        return self.insert() if self.at("INSERT", "UPSERT") else self._query_statement()

    def _compile(self) -> Statement:
        start = self.next().pos
        execute = self.accept("AND")
        if execute:
            self.expect("EXECUTE")
        self.expect("PLAN")
        path = self.option_string()
        exists = not execute and self.if_not_exists()
        self.expect("FOR")
        statement = self._statement_set() if self.at("STATEMENT") else self.insert()
        return CompilePlan(path, statement, exists, execute, pos=self.since(start))

    def _explain(self) -> Statement:
        start = self.next().pos
        details: list[str] = []
        if not self.accept_sequence("PLAN", "FOR") and self.at(*_DETAILS):
            details = list(self.comma_separated(lambda: self.one_of(*_DETAILS)))
        if len(set(details)) < len(details):
            raise self.error("a detail of EXPLAIN is named twice", start)
        statement = self._explained()
        return Explain(statement, tuple(details), pos=self.since(start))

    def _explained(self) -> Statement:
        if self.at("REPLACE") and self.is_word(self.ahead(1), "TABLE", "TEMPORARY"):
            return self.replace_table()
        if self.at("EXECUTE"):
            return self._execute_without_plan()
        if self.at("CREATE"):
            created = self.create()
            if not isinstance(created, CreateTable) or not isinstance(created.query, Query):
                raise self.error("of CREATE, only CREATE TABLE ... AS can be explained", created.pos)
            return created
        return self._executable()

    def _execute_without_plan(self) -> Statement:
        start = self.next().pos
        return Execute(self._executable(), pos=self.since(start))

    # --- the session ---

    def _use(self) -> Statement:
        start = self.next().pos
        if self.accept("CATALOG"):
            return Use("CATALOG", self.simple_identifier(), pos=self.since(start))
        if self.accept("MODULES"):
            return UseModules(self.comma_separated(self.name), pos=self.since(start))
        return Use("DATABASE", self.identifier(), pos=self.since(start))

    def _load(self) -> Statement:
        start = self.next().pos
        self.expect("MODULE")
        name = self.name()
        return LoadModule(name, self.with_options(), pos=self.since(start))

    def _unload(self) -> Statement:
        start = self.next().pos
        self.expect("MODULE")
        return UnloadModule(self.name(), pos=self.since(start))

    def _set(self) -> Statement:
        start = self.next().pos
        if not self.at_kind(STRING):
            return SetOption(pos=start)
        key = self.option_string()
        self.expect("=")
        return SetOption(key, self.option_string(), pos=self.since(start))

    def _reset(self) -> Statement:
        start = self.next().pos
        key = self.option_string() if self.at_kind(STRING) else None
        return ResetOption(key, pos=self.since(start))

    def _jar(self) -> Statement:
        start = self.token.pos
        remove = self.next().text == "REMOVE"
        self.expect("JAR")
        return AddJar(self.string(), remove, pos=self.since(start))

    def _analyze(self) -> Statement:
        start = self.next().pos
        self.expect("TABLE")
        table = self.identifier()
        partition = self.partial_partition_values() if self.accept("PARTITION") else ()
        self.expect_sequence("COMPUTE", "STATISTICS")
        columns: tuple[str, ...] = ()
        everything = False
        if self.accept("FOR"):
            everything = self.accept("ALL")
            self.expect("COLUMNS")
            columns = () if everything else self.comma_separated(self.name)
        return AnalyzeTable(table, partition, columns, everything, pos=self.since(start))

    def _stop(self) -> Statement:
        start = self.next().pos
        self.expect("JOB")
        job = self.string()
        savepoint = self.accept_sequence("WITH", "SAVEPOINT")
        drain = self.at_sequence("WITH", "DRAIN")
        if drain and not savepoint:
            raise self.error("WITH DRAIN stands only behind WITH SAVEPOINT")
        if drain:
            self.expect_sequence("WITH", "DRAIN")
        return StopJob(job, savepoint, drain, pos=self.since(start))
