"""BATCH mode: a keyed operator works on one key after the other, on the records of a key in order of time.

All input is sorted first. At the end of a key its timers fire, in event time and in processing time, as at the end of
all time; then its state is forgotten. So the operator never has more than one key's state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firesteel.runtime.batch import RowBatch
from firesteel.runtime.emission import split_by_timestamps
from firesteel.runtime.operator import ChainLink
from firesteel.state.one_key import OneKeyBackend
from firesteel.state.sorting import KeySorter, Piece

_LOOK_EVERY = 1024
"""After so many records (or keys) it is looked whether the epoch's time is used up."""
_NO_KEY_YET: Any = object()


class SortedInput:
    """The sorted inputs of a chain's head.

    :param inputs: Which inputs are sorted; the others (broadcast ones) are read as they come, so before these.
    """

    def __init__(self, head: ChainLink, sorter: KeySorter, inputs: Iterable[int]) -> None:
        backend = head.operator.context.keyed_state
        assert isinstance(backend, OneKeyBackend)
        self._head = head
        self._backend = backend
        self._sorter = sorter
        self._pieces: Iterator[Piece] | None = None
        self._key = _NO_KEY_YET
        self.inputs = frozenset(inputs)
        self.done = False

    def add(self, input_index: int, batch: RowBatch, size: int) -> None:
        """Take records of an input; ``size`` is about their number of bytes."""
        assert batch.keys is not None
        self._head.call(self._sorter.add, input_index, batch.values, batch.timestamps, batch.keys, size)

    def work_off(self, expired: Callable[[], bool]) -> bool:
        """All input has come: give it to the operator while the epoch has time. Returns whether all is done."""
        if self._pieces is None:
            self._pieces = self._head.call(self._sorter.pieces)
        since_look = 0
        while (piece := self._head.call(next, self._pieces, None)) is not None:
            self._give(piece)
            since_look += max(16, len(piece.values))
            if since_look >= _LOOK_EVERY:
                since_look = 0
                if expired():
                    return False
        self._end_key()
        self.done = True
        self.close()
        return True

    def _give(self, piece: Piece) -> None:
        if self._key is _NO_KEY_YET or piece.key != self._key:
            self._end_key()
            self._key = piece.key
        receive = self._head.receiver(piece.input_index)
        for batch in split_by_timestamps(piece.values, piece.stamps):
            receive(RowBatch(batch.values, batch.timestamps, [piece.key] * len(batch)))

    def _end_key(self) -> None:
        if self._key is _NO_KEY_YET:
            return
        backend = self._backend
        backend.scope.key = self._key
        backend.close_timers(True)
        self._head.call(self._head.operator.end_key)
        backend.close_timers(False)
        backend.forget_key()

    def close(self) -> None:
        """Forget what has not been worked off."""
        self._sorter.close()
