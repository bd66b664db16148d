"""Java's linear congruential generator, so that a seed gives the numbers that it gives in Flink."""

from __future__ import annotations

from firesteel.table.functions.numbers import wrapped

__all__ = ["JavaRandom"]

_MULTIPLIER, _ADDEND, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


class JavaRandom:
    """The numbers of ``java.util.Random`` for a seed."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + _ADDEND) & _MASK
        return wrapped(self._state >> (48 - bits), 32)

    def next_double(self) -> float:
        """The next number from 0 to 1, without 1."""
        high = (self._next(26) & 0x3FFFFFF) << 27
        return (high + (self._next(27) & 0x7FFFFFF)) / (1 << 53)

    def next_int(self, bound: int) -> int:
        """The next whole number from 0 to `bound`, without it."""
        if bound <= 0:
            raise ValueError(f"a bound of random numbers must be positive, got {bound}")
        bits = self._next(31)
        if bound & (bound - 1) == 0:
            return (bound * bits) >> 31
        while wrapped(bits - bits % bound + bound - 1, 32) < 0:
            bits = self._next(31)
        return bits % bound
