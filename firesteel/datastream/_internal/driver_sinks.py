"""What takes records in the driver: printers and buffers of results."""

from __future__ import annotations

import sys
from typing import Any


class PrintSink:
    """Writes lines to standard output or standard error, with the number of the subtask before each.

    The records have become lines in the workers (see ``formatting``).

    :param identifier: A label to begin each line with.
    :param parallelism: The parallelism of the sink; set when the job starts. Subtasks are only named if there are
        several.
    """

    exactly_once = False

    def __init__(self, identifier: str | None, to_stderr: bool) -> None:
        self._identifier = identifier
        self._to_stderr = to_stderr
        self.parallelism = 1

    def accept(self, subtask: int, values: list[Any]) -> None:
        """Write the lines of one subtask."""
        prefix = self._prefix(subtask)
        # Looked up now, not when the graph was built: programs and tests replace these streams.
        stream = sys.stderr if self._to_stderr else sys.stdout
        stream.write("".join([f"{prefix}{line}\n" for line in values]))
        stream.flush()

    def finished(self, error: BaseException | None) -> None:
        """Nothing to do: every line has been written."""
        return None

    def _prefix(self, subtask: int) -> str:
        number = str(subtask + 1) if self.parallelism > 1 else ""
        if self._identifier is None:
            return f"{number}> " if number else ""
        return f"{self._identifier}:{number}> " if number else f"{self._identifier}> "


class ListSink:
    """Keeps all records, in the order in which the subtasks deliver them."""

    exactly_once = True

    def __init__(self) -> None:
        self.values: list[Any] = []

    def accept(self, subtask: int, values: list[Any]) -> None:
        """Keep the records of one subtask."""
        self.values.extend(values)

    def finished(self, error: BaseException | None) -> None:
        """Nothing to do: whoever waits for the job learns about its error."""
        return None
