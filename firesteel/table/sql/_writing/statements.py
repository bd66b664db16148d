"""Statements other than definitions, as text."""

from __future__ import annotations

from firesteel.table.sql._writing.ddl import flag, identifiers, partition, with_options
from firesteel.table.sql._writing.queries import write_hints
from firesteel.table.sql._writing.registry import (
    words,
    write,
    write_all,
    write_name,
    write_names,
    write_string,
    writes,
)
from firesteel.table.sql.nodes import statements as nodes
from firesteel.table.sql.nodes.base import Expression


def _where(condition: Expression | None) -> str | None:
    return None if condition is None else f"WHERE {write(condition)}"


def _alias(alias: str | None) -> str | None:
    return None if alias is None else f"AS {write_name(alias)}"


@writes(nodes.QueryStatement)
def _query(node: nodes.QueryStatement) -> str:
    return write(node.query)


@writes(nodes.Insert)
def _insert(node: nodes.Insert) -> str:
    return words(
        "UPSERT" if node.upsert else "INSERT",
        "OVERWRITE" if node.overwrite else "INTO",
        write(node.table),
        write_hints(node.hints),
        partition(node.partition),
        identifiers(node.columns) if node.columns else None,
        write(node.query),
        None if node.on_conflict is None else f"ON CONFLICT DO {node.on_conflict}",
    )


@writes(nodes.Assignment)
def _assignment(node: nodes.Assignment) -> str:
    return f"{write(node.column)} = {write(node.value)}"


@writes(nodes.Update)
def _update(node: nodes.Update) -> str:
    table = words(write(node.table), write_hints(node.hints), _alias(node.alias))
    return words("UPDATE", table, "SET", write_all(node.assignments), _where(node.where))


@writes(nodes.Delete)
def _delete(node: nodes.Delete) -> str:
    table = words(write(node.table), write_hints(node.hints), _alias(node.alias))
    return words("DELETE FROM", table, _where(node.where))


@writes(nodes.Merge)
def _merge(node: nodes.Merge) -> str:
    insert = None
    if node.insert is not None:
        columns = write_names(node.insert.columns) if node.insert.columns else None
        values = f"VALUES ({write_all(node.insert.values.values)})"
        insert = words("WHEN NOT MATCHED THEN INSERT", columns, values)
    update = f"WHEN MATCHED THEN UPDATE SET {write_all(node.update)}" if node.update else None
    table = words(write(node.table), write_hints(node.hints), _alias(node.alias))
    source = f"USING {write(node.source)} ON {write(node.condition)}"
    return words("MERGE INTO", table, source, update, insert)


@writes(nodes.Truncate)
def _truncate(node: nodes.Truncate) -> str:
    return f"TRUNCATE TABLE {write(node.table)}"


@writes(nodes.Call)
def _call(node: nodes.Call) -> str:
    return f"CALL {write(node.call)}"


@writes(nodes.StatementSet)
def _statement_set(node: nodes.StatementSet) -> str:
    return words("STATEMENT SET BEGIN", *(f"{write(each)};" for each in node.inserts), "END")


@writes(nodes.BeginStatementSet)
def _begin(node: nodes.BeginStatementSet) -> str:
    return "BEGIN STATEMENT SET"


@writes(nodes.EndStatementSet)
def _end(node: nodes.EndStatementSet) -> str:
    return "END"


@writes(nodes.Execute)
def _execute(node: nodes.Execute) -> str:
    return f"EXECUTE {write(node.statement)}"


@writes(nodes.ExecutePlan)
def _execute_plan(node: nodes.ExecutePlan) -> str:
    return f"EXECUTE PLAN {write_string(node.path)}"


@writes(nodes.CompilePlan)
def _compile_plan(node: nodes.CompilePlan) -> str:
    verb = "COMPILE AND EXECUTE PLAN" if node.execute else "COMPILE PLAN"
    exists = flag(node.if_not_exists, "IF NOT EXISTS")
    return words(verb, write_string(node.path), exists, "FOR", write(node.statement))


@writes(nodes.Explain)
def _explain(node: nodes.Explain) -> str:
    return words("EXPLAIN", ", ".join(node.details) or "PLAN FOR", write(node.statement))


@writes(nodes.LikeFilter)
def _like(node: nodes.LikeFilter) -> str:
    word = "ILIKE" if node.ignore_case else "LIKE"
    return words(flag(node.negated, "NOT"), word, write_string(node.pattern))


@writes(nodes.Show)
def _show(node: nodes.Show) -> str:
    source = None if node.source is None else words(node.preposition, write(node.source))
    like = None if node.like is None else write(node.like)
    return words("SHOW", node.what, source, partition(node.partition), like)


@writes(nodes.ShowCreate)
def _show_create(node: nodes.ShowCreate) -> str:
    return f"SHOW CREATE {node.kind} {write(node.name)}"


@writes(nodes.ShowCurrent)
def _show_current(node: nodes.ShowCurrent) -> str:
    return f"SHOW CURRENT {node.kind}"


@writes(nodes.Describe)
def _describe(node: nodes.Describe) -> str:
    column = None if node.column is None else write_name(node.column)
    kind = node.kind if node.kind != "TABLE" or column is not None else None
    return words("DESCRIBE", kind, flag(node.extended, "EXTENDED"), write(node.name), column)


@writes(nodes.DescribeJob)
def _describe_job(node: nodes.DescribeJob) -> str:
    return f"DESCRIBE JOB {write_string(node.job_id)}"


@writes(nodes.StopJob)
def _stop_job(node: nodes.StopJob) -> str:
    savepoint, drain = flag(node.savepoint, "WITH SAVEPOINT"), flag(node.drain, "WITH DRAIN")
    return words("STOP JOB", write_string(node.job_id), savepoint, drain)


@writes(nodes.Use)
def _use(node: nodes.Use) -> str:
    return words("USE", flag(node.kind == "CATALOG", "CATALOG"), write(node.name))


@writes(nodes.UseModules)
def _use_modules(node: nodes.UseModules) -> str:
    return f"USE MODULES {', '.join(map(write_name, node.modules))}"


@writes(nodes.LoadModule)
def _load(node: nodes.LoadModule) -> str:
    return words("LOAD MODULE", write_name(node.name), with_options(node.options))


@writes(nodes.UnloadModule)
def _unload(node: nodes.UnloadModule) -> str:
    return f"UNLOAD MODULE {write_name(node.name)}"


@writes(nodes.SetOption)
def _set(node: nodes.SetOption) -> str:
    if node.key is None:
        return "SET"
    return f"SET {write_string(node.key)} = {write_string(node.value or '')}"


@writes(nodes.ResetOption)
def _reset(node: nodes.ResetOption) -> str:
    return "RESET" if node.key is None else f"RESET {write_string(node.key)}"


@writes(nodes.AlterScope)
def _alter_scope(node: nodes.AlterScope) -> str:
    name = "ALL" if node.name is None else write(node.name)
    if node.value is None:
        return f"ALTER {node.scope} RESET {name}"
    return f"ALTER {node.scope} SET {name} = {write(node.value)}"


@writes(nodes.AddJar)
def _add_jar(node: nodes.AddJar) -> str:
    return f"{'REMOVE' if node.remove else 'ADD'} JAR {write_string(node.path)}"


@writes(nodes.AnalyzeTable)
def _analyze(node: nodes.AnalyzeTable) -> str:
    columns = None
    if node.all_columns or node.columns:
        names = ", ".join(map(write_name, node.columns))
        columns = "FOR ALL COLUMNS" if node.all_columns else f"FOR COLUMNS {names}"
    table = words("ANALYZE TABLE", write(node.table), partition(node.partition))
    return words(table, "COMPUTE STATISTICS", columns)


@writes(nodes.ClientCommand)
def _client_command(node: nodes.ClientCommand) -> str:
    return node.command
