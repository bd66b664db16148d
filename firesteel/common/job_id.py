"""The identity of a job."""

from __future__ import annotations

import re
import uuid

from firesteel.errors import ConfigurationError

__all__ = ["JobID"]


class JobID:
    """A job's identity: 32 hexadecimal digits, made up at random unless given."""

    __slots__ = ("_hex",)

    def __init__(self, hex_string: str | None = None) -> None:
        text = uuid.uuid4().hex if hex_string is None else hex_string.lower()
        if re.fullmatch("[0-9a-f]{32}", text) is None:
            raise ConfigurationError(f"a job id is made of 32 hexadecimal digits, got {hex_string!r}.")
        self._hex = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._hex == other._hex

    def __hash__(self) -> int:
        return hash(self._hex)

    def __str__(self) -> str:
        return self._hex

    def __repr__(self) -> str:
        return f"JobID('{self._hex}')"
