"""The tree of a SQL statement: frozen values, one module for each family."""

__all__: list[str] = []
