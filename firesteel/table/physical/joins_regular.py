"""Joins of two changing tables: each side is kept, and each change meets all rows of the other side.

What is emitted, and in which order, is Flink's: a row of an outer side stands alone, padded with NULL, until its first
partner comes, and again when its last partner has gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.table.changelog import ADDS, DELETE, INSERT
from firesteel.table.evaluation import Evaluator, evaluator
from firesteel.table.physical.keeping import ExpiringMaps, TableOperator
from firesteel.table.resolution import Typed

__all__ = ["RegularJoin", "SemiJoin"]


def _always(row: Any) -> bool:
    return True


class _Side:
    """The rows of one side: each with how often it is there, and how many partners it has if that matters.

    Map of a key: row -> (how often, partners).
    """

    def __init__(self, kept: ExpiringMaps) -> None:
        self._kept = kept

    def add(self, key: Any, row: Any, partners: int) -> None:
        """A row comes."""
        found = self._kept.get(key, row)
        self._kept.put(key, row, ((found[0] if found else 0) + 1, partners))

    def take_back(self, key: Any, row: Any) -> None:
        """A row goes; one that has expired is not there any more."""
        found = self._kept.get(key, row)
        if found is None:
            return
        if found[0] > 1:
            self._kept.put(key, row, (found[0] - 1, found[1]))
        else:
            self._kept.remove(key, row)

    def set_partners(self, key: Any, row: Any, partners: int) -> None:
        """The row, however often it is there, has so many partners now."""
        times, _ = self._kept.get(key, row)
        self._kept.put(key, row, (times, partners))

    def rows(self, key: Any) -> list[tuple[Any, int, int]]:
        """Row, how often, partners."""
        return [(row, times, partners) for row, (times, partners) in self._kept.of(key).items()]


class _Join(TableOperator):
    """What both kinds of joins share.

    :param condition: What else, beside equal keys, makes two rows partners: over the left row and then the right one.
    :param ttl: How long a row is kept that was not written, in milliseconds, on either side; 0: for ever.
    """

    def __init__(self, condition: Typed | None, ttl: tuple[int, int] = (0, 0)) -> None:
        self._condition, self._ttl = condition, ttl

    def open(self) -> None:
        """Make the condition a function and find the state."""
        super().open()
        self._true: Evaluator = _always if self._condition is None else evaluator(self._condition)
        self._left = _Side(self.maps("left", self._ttl[0]))
        self._right = _Side(self.maps("right", self._ttl[1]))

    def process(self, batch: Any) -> None:
        """Changes of the left side."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            self._change(True, key, kind, row)
        self.flush()

    def process_second(self, batch: Any) -> None:
        """Changes of the right side."""
        self.cursor = cursor = iter(batch.values)
        for (kind, row), key in zip(cursor, batch.keys):
            self._change(False, key, kind, row)
        self.flush()

    def _change(self, is_left: bool, key: Any, kind: int, row: Any) -> None:
        raise NotImplementedError

    def _partners(self, is_left: bool, key: Any, row: Any) -> list[tuple[Any, int, int]]:
        if None in key and not self._nulls_match(key):
            return []
        others = (self._right if is_left else self._left).rows(key)
        true = self._true
        if true is _always:
            return others
        if is_left:
            return [other for other in others if true(row + other[0]) is True]
        return [other for other in others if true(other[0] + row) is True]

    def _nulls_match(self, key: Any) -> bool:
        return all(part is not None or equal for part, equal in zip(key, self._null_safe))

    _null_safe: tuple[bool, ...] = ()


class RegularJoin(_Join):
    """INNER, LEFT, RIGHT and FULL.

    :param kind: Which of them.
    :param widths: How many columns the sides have.
    :param null_safe: For each part of the key, whether NULL equals NULL there.
    """

    def __init__(
        self,
        kind: str,
        widths: tuple[int, int],
        condition: Typed | None = None,
        null_safe: tuple[bool, ...] = (),
        ttl: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(condition, ttl)
        self._outer = (kind in ("LEFT", "FULL"), kind in ("RIGHT", "FULL"))
        self._widths, self._null_safe = widths, null_safe

    def open(self) -> None:
        """Make the rows of NULLs."""
        super().open()
        self._nothing = ((None,) * self._widths[0], (None,) * self._widths[1])

    def _change(self, is_left: bool, key: Any, kind: int, row: Any) -> None:
        outer, other_outer = self._outer if is_left else self._outer[::-1]
        partners = self._partners(is_left, key, row)
        if ADDS[kind]:
            mine = self._left if is_left else self._right
            mine.add(key, row, sum(times for _, times, _ in partners))
            if other_outer:
                self._pair_and_count(is_left, key, row, partners)
            else:
                self._pair(is_left, INSERT if outer else kind, row, partners)
            if outer and not partners:
                self._pad(is_left, INSERT, row)
        else:
            (self._left if is_left else self._right).take_back(key, row)
            self._pair(is_left, DELETE if outer else kind, row, partners)
            if outer and not partners:
                self._pad(is_left, DELETE, row)
            if other_outer:
                self._discount_partners(is_left, key, partners)

    def _pair(self, is_left: bool, kind: int, row: Any, partners: Iterable[tuple[Any, int, int]]) -> None:
        for other, times, _ in partners:
            change = (kind, row + other if is_left else other + row)
            self._changes.extend([change] * times)

    def _pad(self, is_left: bool, kind: int, row: Any) -> None:
        self._changes.append((kind, row + self._nothing[1] if is_left else self._nothing[0] + row))

    def _pair_and_count(self, is_left: bool, key: Any, row: Any, partners: list[Any]) -> None:
        """Partners of an outer side: one that stood alone is taken back before its first pair comes."""
        others = self._right if is_left else self._left
        for other, times, before in partners:
            for _ in range(times):
                if before == 0:
                    self._pad(not is_left, DELETE, other)
                self._pair(is_left, INSERT, row, [(other, 1, before)])
            others.set_partners(key, other, before + 1)

    def _discount_partners(self, is_left: bool, key: Any, partners: list[Any]) -> None:
        others = self._right if is_left else self._left
        for other, times, before in partners:
            if before == 1:
                for _ in range(times):
                    self._pad(not is_left, INSERT, other)
            others.set_partners(key, other, before - 1)


class SemiJoin(_Join):
    """The left rows that have a partner on the right; or, with `anti`, those that have none."""

    def __init__(
        self,
        anti: bool,
        condition: Typed | None = None,
        null_safe: tuple[bool, ...] = (),
        ttl: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(condition, ttl)
        self._anti, self._null_safe = anti, null_safe

    def _change(self, is_left: bool, key: Any, kind: int, row: Any) -> None:
        partners = self._partners(is_left, key, row)
        if is_left:
            self._left_change(key, kind, row, sum(times for _, times, _ in partners))
        else:
            self._right_change(key, kind, row, partners)

    def _left_change(self, key: Any, kind: int, row: Any, partners: int) -> None:
        if bool(partners) is not self._anti:
            self._changes.append((kind, row))
        if ADDS[kind]:
            self._left.add(key, row, partners)
        else:
            self._left.take_back(key, row)

    def _right_change(self, key: Any, kind: int, row: Any, partners: list[tuple[Any, int, int]]) -> None:
        adds = ADDS[kind]
        if adds:
            self._right.add(key, row, 0)
        else:
            self._right.take_back(key, row)
        turning, step = (0, 1) if adds else (1, -1)
        shown = kind if not self._anti else DELETE if adds else INSERT
        for other, times, before in partners:
            if before == turning:
                self._changes.extend([(shown, other)] * times)
            self._left.set_partners(key, other, before + step)
