"""When a stream counts as idle: how long it was asked for records and had none."""

from __future__ import annotations


class SilenceClock:
    """Measures the silence of one stream of records: a split, or an operator's input.

    Processing time stands still within an epoch, so an epoch says one of three things about a stream: records came,
    it was asked and had nothing, or it was not asked. A stream that was asked and had nothing has been silent since the
    epoch before it ended, because what had come until then would have been found. While it is not asked, the clock
    stands still: nobody knows.

    :param timeout: How many milliseconds of silence make a stream idle; None: it never is.
    """

    def __init__(self, timeout: int | None) -> None:
        self._timeout = timeout
        self._since: int | None = None
        self._until = 0
        self._before = 0
        """The silence before the stream was last held back."""
        self.idle = False

    def heard(self) -> None:
        """Records have come."""
        self._since = None
        self._before = 0
        self.idle = False

    def asked_in_vain(self, now: int, previous_end: int) -> None:
        """The stream was asked in the epoch that began at ``now``, and had nothing.

        :param previous_end: When the epoch before it ended.
        """
        if self._timeout is None:
            return
        if self._since is None:
            self._since = min(previous_end, now)
        self._until = max(now, self._since)
        self.idle = self.idle or self._silence() >= self._timeout

    def not_asked(self) -> None:
        """Nobody asked the stream in this epoch."""
        self._before = self._silence()
        self._since = None

    def _silence(self) -> int:
        return self._before + (0 if self._since is None else self._until - self._since)

    def due(self, now: int) -> int | None:
        """When somebody has to look again, so that silence is noticed; ``now`` is the time of the epoch that ends."""
        if self._timeout is None or self.idle:
            return None
        since = now if self._since is None else self._since
        return since + self._timeout - self._before
