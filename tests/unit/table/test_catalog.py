"""The catalog in memory behaves, and complains, as Flink's does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firesteel.errors import ConfigurationError
from firesteel.table import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    DataTypes,
    ObjectIdentifier,
    ObjectPath,
    Schema,
)
from firesteel.table import catalog as errors
from firesteel.table.catalog import Catalog, GenericInMemoryCatalog

SCHEMA = Schema.new_builder().column("a", DataTypes.INT()).build()
TABLE = CatalogBaseTable.create_table(SCHEMA, [], {"connector": "print"}, "a table")
VIEW = CatalogBaseTable.create_view("select 1", "SELECT 1", SCHEMA, {}, "a view")
PARTITIONED = CatalogBaseTable.create_table(SCHEMA, ["a"], {})
T, V, P, NOWHERE = ObjectPath("db", "t"), ObjectPath("db", "v"), ObjectPath("db", "p"), ObjectPath("x", "t")
ONE, TWO = CatalogPartitionSpec({"a": "1"}), CatalogPartitionSpec({"a": "2"})
FUNCTION = CatalogFunction.create_instance("module.function")
MODEL = CatalogModel.create_model(SCHEMA, SCHEMA, {"provider": "x"}, "a model")


@pytest.fixture
def catalog() -> GenericInMemoryCatalog:
    catalog = GenericInMemoryCatalog("c", "db")
    catalog.create_table(T, TABLE, False)
    catalog.create_table(V, VIEW, False)
    catalog.create_table(P, PARTITIONED, False)
    catalog.create_partition(P, ONE, CatalogPartition.create_instance({"k": "v"}), False)
    catalog.create_function(ObjectPath("db", "Fn"), FUNCTION, False)
    catalog.create_model(ObjectPath("db", "m"), MODEL, False)
    return catalog


def test_it_begins_with_one_database() -> None:
    catalog = GenericInMemoryCatalog("c")
    assert (catalog.list_databases(), catalog.get_default_database()) == (["default"], "default")
    assert catalog.get_database("default").get_comment() is None


def test_databases_come_change_and_go(catalog: GenericInMemoryCatalog) -> None:
    catalog.create_database("d", CatalogDatabase.create_instance({"k": "v"}, "hello"), False)
    catalog.create_database("d", CatalogDatabase.create_instance({}), True)
    assert catalog.get_database("d").get_properties() == {"k": "v"}
    assert catalog.get_database("d").get_description() == "hello"
    catalog.alter_database("d", CatalogDatabase.create_instance({}, "new"), False)
    catalog.alter_database("zz", CatalogDatabase.create_instance({}, "new"), True)
    assert catalog.get_database("d").get_detailed_description() == "new"
    catalog.drop_database("d", False)
    catalog.drop_database("d", True)
    assert not catalog.database_exists("d")
    catalog.drop_database("db", False, cascade=True)
    assert catalog.list_databases() == []


def test_tables_and_views(catalog: GenericInMemoryCatalog) -> None:
    assert catalog.list_tables("db") == ["t", "v", "p"]
    assert catalog.list_views("db") == ["v"]
    assert catalog.list_materialized_tables("db") == []
    assert catalog.get_table(T).get_options() == {"connector": "print"}
    assert catalog.get_table(T).get_unresolved_schema() == SCHEMA
    assert catalog.get_table(V).get_expanded_query() == "SELECT 1"
    assert catalog.get_table(V).get_detailed_description() == "SELECT 1"
    catalog.rename_table(T, "u", False)
    assert not catalog.table_exists(T)
    catalog.alter_table(ObjectPath("db", "u"), TABLE.with_options({}), False)
    assert catalog.get_table(ObjectPath("db", "u")).get_options() == {}
    catalog.drop_table(ObjectPath("db", "u"), False)
    catalog.drop_table(ObjectPath("db", "u"), True)
    catalog.rename_table(ObjectPath("db", "u"), "w", True)
    catalog.alter_table(ObjectPath("db", "u"), TABLE, True)
    assert catalog.list_tables("db") == ["v", "p"]


def test_what_is_given_and_got_is_a_copy(catalog: GenericInMemoryCatalog) -> None:
    catalog.get_table(T).get_options()["connector"] = "other"
    catalog.get_database("db").get_properties()["x"] = "y"
    assert catalog.get_table(T).get_options() == {"connector": "print"}
    assert catalog.get_database("db").get_properties() == {}


def test_partitions(catalog: GenericInMemoryCatalog) -> None:
    catalog.create_partition(P, ONE, CatalogPartition.create_instance({}), True)
    catalog.create_partition(P, TWO, CatalogPartition.create_instance({}, "second"), False)
    assert catalog.list_partitions(P) == [ONE, TWO]
    assert catalog.list_partitions(P, TWO) == [TWO]
    assert catalog.get_partition(P, ONE).get_properties() == {"k": "v"}
    catalog.alter_partition(P, ONE, CatalogPartition.create_instance({}, "first"), False)
    assert catalog.get_partition(P, ONE).get_comment() == "first"
    catalog.drop_partition(P, ONE, False)
    catalog.drop_partition(P, ONE, True)
    catalog.alter_partition(P, ONE, CatalogPartition.create_instance({}), True)
    assert not catalog.partition_exists(P, ONE)


def test_functions_have_no_upper_and_lower_case(catalog: GenericInMemoryCatalog) -> None:
    path = ObjectPath("db", "fN")
    assert catalog.list_functions("db") == ["fn"]
    assert catalog.get_function(path).get_function_language() == "PYTHON"
    catalog.alter_function(path, CatalogFunction.create_instance("a.B", "Java"), False)
    assert catalog.get_function(path).get_class_name() == "a.B"
    catalog.drop_function(path, False)
    catalog.drop_function(path, True)
    catalog.alter_function(path, FUNCTION, True)
    assert not catalog.function_exists(path)
    assert catalog.list_procedures("db") == []


def test_models(catalog: GenericInMemoryCatalog) -> None:
    path = ObjectPath("db", "m")
    assert catalog.get_model(path).get_options() == {"provider": "x"}
    catalog.rename_model(path, "n", False)
    assert catalog.list_models("db") == ["n"]
    catalog.alter_model(ObjectPath("db", "n"), CatalogModel.create_model(SCHEMA, SCHEMA, comment="new"), False)
    assert catalog.get_model(ObjectPath("db", "n")).get_comment() == "new"
    catalog.drop_model(ObjectPath("db", "n"), False)
    catalog.drop_model(path, True)
    catalog.rename_model(path, "n", True)
    catalog.alter_model(path, MODEL, True)
    assert not catalog.model_exists(path)


def test_statistics_are_unknown_until_they_are_said(catalog: GenericInMemoryCatalog) -> None:
    assert catalog.get_table_statistics(T).get_row_count() == -1
    catalog.alter_table_statistics(T, CatalogTableStatistics(5, 1, 100, 200, {"k": "v"}), False)
    known = catalog.get_table_statistics(T)
    assert (known.get_row_count(), known.get_field_count(), known.get_total_size()) == (5, 1, 100)
    assert (known.get_raw_data_size(), known.get_properties()) == (200, {"k": "v"})
    catalog.alter_table_column_statistics(T, CatalogColumnStatistics({"a": 1}), False)
    assert catalog.get_table_column_statistics(T).get_column_statistics_data() == {"a": 1}
    catalog.alter_partition_statistics(P, ONE, CatalogTableStatistics(7), False)
    assert [each.get_row_count() for each in catalog.bulk_get_partition_statistics(P, [ONE])] == [7]
    catalog.alter_partition_column_statistics(P, ONE, CatalogColumnStatistics({}, {"x": "y"}), False)
    assert catalog.bulk_get_partition_column_statistics(P, [ONE])[0].get_properties() == {"x": "y"}
    catalog.alter_table_statistics(NOWHERE, CatalogTableStatistics(), True)
    catalog.alter_table_column_statistics(NOWHERE, CatalogColumnStatistics(), True)
    catalog.alter_partition_statistics(P, TWO, CatalogTableStatistics(), True)
    catalog.alter_partition_column_statistics(P, TWO, CatalogColumnStatistics(), True)


MISSING = ObjectPath("db", "missing")
COMPLAINTS: list[tuple[Callable[[Catalog], object], type[Exception], str]] = [
    (lambda c: c.get_database("x"), errors.DatabaseNotExistException, "Database x does not exist in Catalog c."),
    (lambda c: c.list_tables("x"), errors.DatabaseNotExistException, "Database x does not exist in Catalog c."),
    (lambda c: c.drop_database("x", False), errors.DatabaseNotExistException, "Database x does not exist"),
    (
        lambda c: c.drop_database("db", False),
        errors.DatabaseNotEmptyException,
        "Database db in catalog c is not empty.",
    ),
    (lambda c: c.drop_database("db", True), errors.DatabaseNotEmptyException, "not empty"),
    (
        lambda c: c.create_database("db", CatalogDatabase.create_instance({}), False),
        errors.DatabaseAlreadyExistException,
        "Database db already exists in Catalog c.",
    ),
    (lambda c: c.get_table(MISSING), errors.TableNotExistException, r"Table \(or view\) db.missing does not exist in"),
    (lambda c: c.drop_table(MISSING, False), errors.TableNotExistException, "db.missing does not exist"),
    (lambda c: c.create_table(T, TABLE, False), errors.TableAlreadyExistException, "db.t already exists in Catalog c."),
    (lambda c: c.create_table(NOWHERE, TABLE, True), errors.DatabaseNotExistException, "Database x"),
    (lambda c: c.rename_table(T, "v", False), errors.TableAlreadyExistException, "db.v already exists"),
    (lambda c: c.alter_table(T, VIEW, False), errors.CatalogException, "Existing table is 'TABLE' and new table is"),
    (
        lambda c: c.list_partitions(T),
        errors.TableNotPartitionedException,
        "Table db.t in catalog c is not partitioned.",
    ),
    (lambda c: c.get_partition(P, TWO), errors.PartitionNotExistException, "a=2.* of table db.p in catalog c does not"),
    (
        lambda c: c.create_partition(P, ONE, CatalogPartition.create_instance({}), False),
        errors.PartitionAlreadyExistsException,
        "already exists",
    ),
    (
        lambda c: c.create_partition(P, CatalogPartitionSpec({"b": "1"}), CatalogPartition.create_instance({}), False),
        errors.PartitionSpecInvalidException,
        r"does not match partition keys \[a\] of table db.p in catalog c.",
    ),
    (lambda c: c.get_function(MISSING), errors.FunctionNotExistException, "Function db.missing does not exist"),
    (
        lambda c: c.create_function(ObjectPath("db", "FN"), FUNCTION, False),
        errors.FunctionAlreadyExistException,
        "already exists",
    ),
    (lambda c: c.get_model(MISSING), errors.ModelNotExistException, "Model db.missing does not exist"),
    (
        lambda c: c.create_model(ObjectPath("db", "m"), MODEL, False),
        errors.ModelAlreadyExistException,
        "already exists",
    ),
    (lambda c: c.rename_model(ObjectPath("db", "m"), "m", False), errors.ModelAlreadyExistException, "already exists"),
    (lambda c: c.get_procedure(MISSING), errors.ProcedureNotExistException, "Procedure db.missing"),
]


@pytest.mark.parametrize(("do", "kind", "message"), COMPLAINTS)
def test_complaints_are_flinks(
    catalog: GenericInMemoryCatalog, do: Callable[[Catalog], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message) as caught:
        do(catalog)
    assert type(caught.value) is kind


def test_paths_are_values_in_order() -> None:
    assert ObjectPath.from_string("a.b") == ObjectPath("a", "b")
    assert str(ObjectPath("a", "b")) == ObjectPath("a", "b").get_full_name() == "a.b"
    assert ObjectPath("a", "b") < ObjectPath("a", "c") <= ObjectPath("b", "a")
    assert ObjectPath("a", "b").compare_to(ObjectPath("a", "c")) == -1
    assert len({ObjectPath("a", "b"), ObjectPath("a", "b")}) == 1
    for wrong in ("a", "a.b.c", "a."):
        with pytest.raises(ConfigurationError):
            ObjectPath.from_string(wrong)


def test_identifiers_have_three_parts() -> None:
    identifier = ObjectIdentifier.of("c", "d", "o`x")
    assert identifier.as_summary_string() == "c.d.o`x"
    assert identifier.as_serializable_string() == str(identifier) == "`c`.`d`.`o``x`"
    assert identifier.to_object_path() == ObjectPath("d", "o`x")
    assert identifier.to_list() == ["c", "d", "o`x"]
    assert identifier == ObjectIdentifier("c", "d", "o`x")
    assert hash(identifier) == hash(ObjectIdentifier("c", "d", "o`x"))
    parts = (identifier.get_catalog_name(), identifier.get_database_name(), identifier.get_object_name())
    assert parts == ("c", "d", "o`x")


def test_partition_specs_are_shown_as_flink_shows_them() -> None:
    assert str(CatalogPartitionSpec({"a": "1", "b": "2"})) == "CatalogPartitionSpec{{a=1, b=2}}"
    assert CatalogPartitionSpec({"a": "1", "b": "2"}) == CatalogPartitionSpec({"b": "2", "a": "1"})


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ConfigurationError, match="needs a Schema"):
        CatalogBaseTable.create_table("a INT")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="Python, Java or Scala"):
        CatalogFunction.create_instance("x", "Ruby")
