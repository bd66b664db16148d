"""Graphs out of files of fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from firesteel.dataset import DataSet, ExecutionEnvironment
from firesteel.errors import ConfigurationError

if TYPE_CHECKING:
    from firesteel.gelly.graph import Graph

__all__ = ["GraphCsvReader"]


class GraphCsvReader:
    """How the files of a graph are read: ``Graph.from_csv_reader`` makes it, :meth:`types` and the like end it.

    ::

        graph = Graph.from_csv_reader("vertices.csv", "edges.csv", env).ignore_first_line_edges().types(int, str, float)
    """

    def __init__(
        self,
        paths: list[str],
        vertex_value_initializer: Any,
        context: ExecutionEnvironment,
        make: Callable[..., Graph],
    ) -> None:
        self._edges = context.read_csv_file(paths[-1])
        self._vertices = context.read_csv_file(paths[0]) if len(paths) == 2 else None
        self._initializer = vertex_value_initializer
        self._make = make

    # --- what is in the files -----------------------------------------------------------------------

    def types(self, vertex_key: type, vertex_value: type, edge_value: type | None = None) -> Graph:
        """Ids of this class, vertices and edges with values of these.

        With edges alone, the second class is that of their values.
        """
        if self._vertices is None:
            if edge_value is not None:
                raise ConfigurationError("types: there is no file of vertices; name the classes of ids and edge values")
            return self._graph(None, self._edges.types(vertex_key, vertex_key, vertex_value))
        if edge_value is None:
            raise ConfigurationError("types: name the classes of ids, vertex values and edge values")
        return self._graph(
            self._vertices.types(vertex_key, vertex_value), self._edges.types(vertex_key, vertex_key, edge_value)
        )

    def key_type(self, vertex_key: type) -> Graph:
        """Ids of this class, and no values: a file of edges alone, or vertices with ids alone."""
        vertices = None if self._vertices is None else self._vertices.types(vertex_key).map(_without_value)
        return self._graph(vertices, self._edges.types(vertex_key, vertex_key))

    def vertex_types(self, vertex_key: type, vertex_value: type) -> Graph:
        """Vertices with values, edges without. With edges alone, the values are those of the initializer."""
        vertices = None if self._vertices is None else self._vertices.types(vertex_key, vertex_value)
        return self._graph(vertices, self._edges.types(vertex_key, vertex_key))

    def edge_types(self, vertex_key: type, edge_value: type) -> Graph:
        """Edges with values, vertices without."""
        vertices = None if self._vertices is None else self._vertices.types(vertex_key).map(_without_value)
        return self._graph(vertices, self._edges.types(vertex_key, vertex_key, edge_value))

    def _graph(self, vertices: DataSet | None, edges: DataSet) -> Graph:
        if vertices is not None:
            return self._make(vertices, edges)
        return self._make(edges) if self._initializer is None else self._make(edges, self._initializer)

    # --- how edges are written ----------------------------------------------------------------------

    def field_delimiter_edges(self, delimiter: str) -> GraphCsvReader:
        """What is between the fields of an edge; a comma if it is not set."""
        self._edges.field_delimiter(delimiter)
        return self

    def line_delimiter_edges(self, delimiter: str) -> GraphCsvReader:
        """What is between edges; the end of a line if it is not set."""
        self._edges.line_delimiter(delimiter)
        return self

    def parse_quoted_strings_edges(self, quote_character: str = '"') -> GraphCsvReader:
        """Take fields of edges in quotes as they are."""
        self._edges.parse_quoted_strings(quote_character)
        return self

    def ignore_comments_edges(self, comment_prefix: str) -> GraphCsvReader:
        """Leave out lines of edges that begin so."""
        self._edges.ignore_comments(comment_prefix)
        return self

    def ignore_first_line_edges(self) -> GraphCsvReader:
        """Leave out the first line of each file of edges."""
        self._edges.ignore_first_line()
        return self

    def ignore_invalid_lines_edges(self) -> GraphCsvReader:
        """Leave out lines that are no edges of these types."""
        self._edges.ignore_invalid_lines()
        return self

    def include_edge_fields(self, *fields: bool | str | int) -> GraphCsvReader:
        """Which fields of edges to read."""
        self._edges.include_fields(*fields)
        return self

    # --- how vertices are written -------------------------------------------------------------------

    def field_delimiter_vertices(self, delimiter: str) -> GraphCsvReader:
        """What is between the fields of a vertex; a comma if it is not set."""
        self._vertex_reader("field_delimiter_vertices").field_delimiter(delimiter)
        return self

    def line_delimiter_vertices(self, delimiter: str) -> GraphCsvReader:
        """What is between vertices; the end of a line if it is not set."""
        self._vertex_reader("line_delimiter_vertices").line_delimiter(delimiter)
        return self

    def parse_quoted_strings_vertices(self, quote_character: str = '"') -> GraphCsvReader:
        """Take fields of vertices in quotes as they are."""
        self._vertex_reader("parse_quoted_strings_vertices").parse_quoted_strings(quote_character)
        return self

    def ignore_comments_vertices(self, comment_prefix: str) -> GraphCsvReader:
        """Leave out lines of vertices that begin so."""
        self._vertex_reader("ignore_comments_vertices").ignore_comments(comment_prefix)
        return self

    def ignore_first_line_vertices(self) -> GraphCsvReader:
        """Leave out the first line of each file of vertices."""
        self._vertex_reader("ignore_first_line_vertices").ignore_first_line()
        return self

    def ignore_invalid_lines_vertices(self) -> GraphCsvReader:
        """Leave out lines that are no vertices of these types."""
        self._vertex_reader("ignore_invalid_lines_vertices").ignore_invalid_lines()
        return self

    def include_vertex_fields(self, *fields: bool | str | int) -> GraphCsvReader:
        """Which fields of vertices to read."""
        self._vertex_reader("include_vertex_fields").include_fields(*fields)
        return self

    def _vertex_reader(self, where: str) -> Any:
        if self._vertices is None:
            raise ConfigurationError(f"{where}: this graph is read from a file of edges alone")
        return self._vertices


def _without_value(record: tuple[Any]) -> tuple[Any, None]:
    return record[0], None
