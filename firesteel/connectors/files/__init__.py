"""Files as sources and sinks: what they share, and the file source and sink themselves.

Nothing is imported here: a program loads the connectors that it uses.
"""

__all__: list[str] = []
