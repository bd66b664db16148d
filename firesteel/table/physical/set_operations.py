"""INTERSECT ALL and EXCEPT ALL: how often a row is on either side decides how often it is in the result.

The other set operations need no operator of their own: UNION is a group per row, INTERSECT and EXCEPT are semi and anti
joins of such groups.
"""

from __future__ import annotations

from typing import Any

from firesteel.table.changelog import ADDS, DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from firesteel.table.physical.keeping import TableOperator

__all__ = ["CountedRows"]


class CountedRows(TableOperator):
    """Both sides are keyed by the whole row.

    :param operator: INTERSECT (as often as on the side that has it less often) or EXCEPT (what the left side has more).
    """

    def __init__(self, operator: str, ttl: int = 0) -> None:
        self._intersect, self._ttl = operator == "INTERSECT", ttl

    def open(self) -> None:
        """Find the counts: (left, right) of each row."""
        super().open()
        self._counts = self.values("counts", self._ttl)

    def process(self, batch: Any) -> None:
        """Changes of the left side."""
        self._change(batch, 1, 0)

    def process_second(self, batch: Any) -> None:
        """Changes of the right side."""
        self._change(batch, 0, 1)

    def _change(self, batch: Any, left_step: int, right_step: int) -> None:
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            left, right = before = self._counts.get(key) or (0, 0)
            sign = 1 if ADDS[kind] else -1
            after = (left + sign * left_step, right + sign * right_step)
            is_new, is_gone = before == (0, 0), after == (0, 0)
            if is_gone:
                self._counts.remove(key)
            else:
                self._counts.put(key, after)
            taken, put = (DELETE if is_gone else UPDATE_BEFORE), (INSERT if is_new else UPDATE_AFTER)
            self._changes.extend([(taken, row)] * self._times(before))
            self._changes.extend([(put, row)] * self._times(after))
        self.flush()

    def _times(self, counts: tuple[int, int]) -> int:
        left, right = counts
        return max(0, min(left, right) if self._intersect else left - right)
