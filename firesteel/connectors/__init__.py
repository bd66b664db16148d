"""Sources and sinks, one module each. Every class states its ``guarantee`` and whether it is ``replayable``.

Nothing is imported here: a program loads the connectors that it uses.
"""

__all__: list[str] = []
