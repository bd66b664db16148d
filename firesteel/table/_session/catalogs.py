"""The catalogs of a session, which of them is meant, and what only this session has."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from firesteel.errors import ProgramError
from firesteel.table.catalog import Catalog, CatalogBaseTable, ObjectPath
from firesteel.table.catalog.in_memory import GenericInMemoryCatalog
from firesteel.table.functions import Function, Session
from firesteel.table.functions.definition import session_functions
from firesteel.table.logical import CatalogTables, Relation
from firesteel.table.logical.errors import did_you_mean

__all__ = ["Catalogs", "ObjectError", "Path"]

Path = tuple[str, str, str]


class ObjectError(ProgramError, ValueError):
    """A table, database or catalog that is not there, or that is there already."""


class Catalogs:
    """Catalogs by their names; tables of the session are before theirs."""

    def __init__(self, catalog: str, database: str) -> None:
        self.all: dict[str, Catalog] = {catalog: GenericInMemoryCatalog(catalog, database)}
        self.builtin = catalog
        self.current_catalog, self.current_database = catalog, database
        self.temporary: dict[Path, CatalogBaseTable | Relation] = {}
        self.system_functions: dict[str, Function] = {}
        """Functions of the session that come before the built-in ones, by their names in capitals."""
        self.functions: dict[Path, Function] = {}
        """Functions of databases that only this session has; their names are in capitals."""

    def tables(self, session: Session) -> CatalogTables:
        """All tables, by their names in queries."""
        current = (self.current_catalog, self.current_database)
        return CatalogTables(self.all, current, self.temporary, session)

    def path(self, parts: Sequence[str]) -> Path:
        """The full name of what is called so."""
        if len(parts) == 1:
            return (self.current_catalog, self.current_database, parts[0])
        if len(parts) == 2:
            return (self.current_catalog, parts[0], parts[1])
        if len(parts) == 3:
            return (parts[0], parts[1], parts[2])
        raise ObjectError(f"a name has at most three parts, catalog, database and object; got {'.'.join(parts)}.")

    def knowing_functions(self) -> AbstractContextManager[None]:
        """Within it, names mean the functions of the session too."""
        here = (self.current_catalog, self.current_database)
        return session_functions(
            self.system_functions, {path[2]: each for path, each in self.functions.items() if path[:2] == here}
        )

    # ---- catalogs and databases ----------------------------------------------------------------------------

    def catalog(self, name: str) -> Catalog:
        """A catalog by its name."""
        found = self.all.get(name)
        if found is None:
            raise ObjectError(f"A catalog with name [{name}] does not exist{did_you_mean(name, self.all)}")
        return found

    def register(self, name: str, catalog: Catalog) -> None:
        """Add a catalog."""
        if name in self.all:
            raise ObjectError(f"Catalog {name} already exists.")
        self.all[name] = catalog

    def unregister(self, name: str, ignore_if_not_exists: bool = False) -> None:
        """Forget a catalog and what the session has in it."""
        if name not in self.all and ignore_if_not_exists:
            return
        self.catalog(name)
        if name == self.current_catalog:
            raise ObjectError("Cannot drop a catalog which is currently in use.")
        del self.all[name]

    def use_catalog(self, name: str) -> None:
        """From now on this catalog is meant, and its default database."""
        self.current_database = self.catalog(name).get_default_database()
        self.current_catalog = name

    def database_path(self, parts: Sequence[str]) -> tuple[str, str]:
        """The names of a catalog and of a database in it."""
        if len(parts) > 2:
            raise ObjectError(f"a database has at most two names, catalog and database; got {'.'.join(parts)}.")
        return (parts[0], parts[1]) if len(parts) == 2 else (self.current_catalog, parts[0])

    def use_database(self, parts: Sequence[str]) -> None:
        """From now on this database is meant."""
        catalog, database = self.database_path(parts)
        found = self.catalog(catalog)
        if not found.database_exists(database):
            raise ObjectError(
                f"A database with name [{database}] does not exist in the catalog: [{catalog}]"
                f"{did_you_mean(database, found.list_databases())}"
            )
        self.current_catalog, self.current_database = catalog, database

    # ---- tables --------------------------------------------------------------------------------------------

    def find(self, path: Path) -> CatalogBaseTable | Relation | None:
        """A table or view by its full name."""
        if path in self.temporary:
            return self.temporary[path]
        catalog = self.all.get(path[0])
        if catalog is None or not catalog.database_exists(path[1]):
            return None
        there = ObjectPath(path[1], path[2])
        return catalog.get_table(there) if catalog.table_exists(there) else None

    def get(self, path: Path) -> CatalogBaseTable | Relation:
        """A table or view by its full name; an error names those that it may be meant for."""
        found = self.find(path)
        if found is None:
            raise ObjectError(
                f"Tables or views with the identifier '{'.'.join(path)}' doesn't exist"
                f"{did_you_mean(path[2], self.table_names(path[0], path[1]))}"
            )
        return found

    def stored(self, path: Path) -> CatalogBaseTable:
        """The same, for what has a schema and options in a catalog."""
        found = self.get(path)
        if isinstance(found, Relation):
            raise ObjectError(f"{'.'.join(path)} is a view of the program, made of a Table or a stream.")
        return found

    def create(self, path: Path, table: CatalogBaseTable | Relation, temporary: bool, ignore: bool) -> None:
        """Add a table or view."""
        if temporary:
            if path in self.temporary and not ignore:
                raise ObjectError(f"Temporary table '{_quoted(path)}' already exists")
            self.temporary.setdefault(path, table)
            return
        assert isinstance(table, CatalogBaseTable)
        catalog = self.catalog(path[0])
        if not catalog.database_exists(path[1]):
            raise ObjectError(f"Could not execute CreateTable: Database {path[1]} does not exist in {path[0]}.")
        if catalog.table_exists(ObjectPath(path[1], path[2])) and not ignore:
            raise ObjectError(f"Could not execute CreateTable in path {_quoted(path)}: it exists already.")
        catalog.create_table(ObjectPath(path[1], path[2]), table, ignore)

    def drop(self, path: Path, views: bool, temporary: bool, ignore: bool) -> bool:
        """Remove a table, or a view; whether there was one."""
        kind = "View" if views else "Table"
        if temporary:
            found = self.temporary.get(path)
            if found is not None and _is_view(found) == views:
                del self.temporary[path]
                return True
            if ignore:
                return False
            raise ObjectError(f"Temporary {kind.lower()} with identifier '{'.'.join(path)}' does not exist.")
        if path in self.temporary and _is_view(self.temporary[path]) == views:
            raise ObjectError(
                f"Temporary {kind.lower()} with identifier '{'.'.join(path)}' exists. Drop it first before removing "
                f"the permanent {kind.lower()}."
            )
        found = self.find(path)
        if found is None or _is_view(found) != views:
            if ignore:
                return False
            raise ObjectError(f"{kind} with identifier '{'.'.join(path)}' does not exist.")
        self.catalog(path[0]).drop_table(ObjectPath(path[1], path[2]), ignore)
        return True

    def table_names(self, catalog: str, database: str) -> list[str]:
        """All tables and views of a database, those of the session too, by name."""
        found = self.all.get(catalog)
        stored = found.list_tables(database) if found is not None and found.database_exists(database) else []
        return sorted({*stored, *(path[2] for path in self.temporary if path[:2] == (catalog, database))})

    def view_names(self, catalog: str, database: str) -> list[str]:
        """All views of a database, those of the session too, by name."""
        paths: list[Path] = [(catalog, database, name) for name in self.table_names(catalog, database)]
        return [path[2] for path in paths if _is_view(self.get(path))]


def _is_view(table: CatalogBaseTable | Relation) -> bool:
    return isinstance(table, Relation) or table.is_view


def _quoted(path: Path) -> str:
    return ".".join(f"`{part}`" for part in path)
