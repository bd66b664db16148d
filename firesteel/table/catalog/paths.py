"""The names of what is in a catalog."""

from __future__ import annotations

from functools import total_ordering

from firesteel.errors import ConfigurationError

__all__ = ["CatalogPartitionSpec", "ObjectIdentifier", "ObjectPath"]


def _part(what: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(f"{what} is a text that is not empty, got {name!r}.")
    return name


@total_ordering
class ObjectPath:
    """A database's name and the name of something in it."""

    def __init__(self, database_name: str, object_name: str) -> None:
        self._database_name = _part("the name of a database", database_name)
        self._object_name = _part("the name of an object", object_name)

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """Read ``database.object``."""
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ConfigurationError(f"a path is written database.object, got {full_name!r}.")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """The name of the database."""
        return self._database_name

    def get_object_name(self) -> str:
        """The name of the object in it."""
        return self._object_name

    def get_full_name(self) -> str:
        """Both, with a dot between."""
        return f"{self._database_name}.{self._object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        """-1, 0 or 1: which full name comes first."""
        mine, theirs = self.get_full_name(), other.get_full_name()
        return (mine > theirs) - (mine < theirs)

    def __str__(self) -> str:
        return self.get_full_name()

    def __repr__(self) -> str:
        return f"ObjectPath({self._database_name!r}, {self._object_name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and (self._database_name, self._object_name) == (
            other._database_name,
            other._object_name,
        )

    def __lt__(self, other: object) -> bool:
        return self.compare_to(other) < 0 if isinstance(other, ObjectPath) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._database_name, self._object_name))


class ObjectIdentifier:
    """The names of a catalog, of a database in it, and of something in that."""

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._parts = (
            _part("the name of a catalog", catalog_name),
            _part("the name of a database", database_name),
            _part("the name of an object", object_name),
        )

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """An identifier of three names."""
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """The name of the catalog."""
        return self._parts[0]

    def get_database_name(self) -> str:
        """The name of the database."""
        return self._parts[1]

    def get_object_name(self) -> str:
        """The name of the object."""
        return self._parts[2]

    def to_object_path(self) -> ObjectPath:
        """Database and object, without the catalog."""
        return ObjectPath(self._parts[1], self._parts[2])

    def to_list(self) -> list[str]:
        """The three names."""
        return list(self._parts)

    def as_serializable_string(self) -> str:
        """The three names between back-ticks, as SQL reads them."""
        return ".".join("`" + part.replace("`", "``") + "`" for part in self._parts)

    def as_summary_string(self) -> str:
        """The three names with dots between."""
        return ".".join(self._parts)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __repr__(self) -> str:
        return f"ObjectIdentifier.of{self._parts!r}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


class CatalogPartitionSpec:
    """Which partition: a value, as text, for columns that the table is partitioned by."""

    def __init__(self, partition_spec: dict[str, str]) -> None:
        self._partition_spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """The columns and their values."""
        return dict(self._partition_spec)

    def __str__(self) -> str:
        inside = ", ".join(f"{key}={value}" for key, value in self._partition_spec.items())
        return f"CatalogPartitionSpec{{{{{inside}}}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._partition_spec == other._partition_spec

    def __hash__(self) -> int:
        return hash(frozenset(self._partition_spec.items()))
