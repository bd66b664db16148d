"""Session windows with the usual trigger.

Per key there is a list of open sessions, almost always one, which most records merely extend. A session that is
extended does not move its timer: when the old one comes up, the session is found to last longer and waits again.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from firesteel.model.assigners import EventTimeSessionWindows, ProcessingTimeSessionWindows
from firesteel.model.windows import TimeWindow
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import OperatorContext
from firesteel.runtime.windowing.base import WindowOperatorBase
from firesteel.runtime.windowing.contents import NO_FOLD, AllRecords
from firesteel.runtime.windowing.spec import WindowSpec
from firesteel.state.backend import value_table
from firesteel.state.tables import ValueTable

# A session: [start, end, value, when to look at it, its number among those looked at then]. Changed in place. The value
# is what the fold has made or, if the records are kept, the namespace under which they are: that of the session's first
# record.
_START, _END, _VALUE, _LOOK, _NUMBER = 0, 1, 2, 3, 4
Session = list[Any]


class SessionWindowOperator(WindowOperatorBase):
    """Sessions. Needs the trigger of the time domain, no evictor, no allowed lateness; a fold must be able to merge."""

    _table: ValueTable

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self._fixed_gap: int | None = None
        self._heap: list[tuple[int, int, Any]] = []
        self._sequence = 0

    def setup(self, context: OperatorContext) -> None:
        """Declare the state: key -> sessions, in order of time."""
        super().setup(context)
        self._table = value_table(self.backend, "_window/sessions")
        self._records = AllRecords(self.backend) if self.fold is None else None

    def open(self) -> None:
        """Set the timers of the sessions that were restored."""
        super().open()
        if type(self.spec.assigner) in (EventTimeSessionWindows, ProcessingTimeSessionWindows):
            (window,) = self.spec.assigner.assign_windows(None, 0, self.assigner_context)
            self._fixed_gap = window.end - window.start
        self._restore_timers()

    def _restore_timers(self) -> None:
        """Set the timers of restored sessions, in the order in which they were set."""
        found = [
            (session[_LOOK], session[_NUMBER], key)
            for key, sessions in self._table.entries.items()
            for session in sessions
        ]
        found.sort(key=itemgetter(0, 1))  # sessions of several former subtasks may have the same number
        self._heap = [(look, place, key) for place, (look, _, key) in enumerate(found)]
        self._sequence = max(len(found), *(number for _, number, _ in found), 0)

    def _set_timer(self, key: Any, session: Session) -> None:
        self._sequence = session[_NUMBER] = self._sequence + 1
        heappush(self._heap, (session[_LOOK], self._sequence, key))

    # ---- records -----------------------------------------------------------------------------------------------

    def process(self, batch: RowBatch) -> None:
        """Fold each record into the session it belongs to."""
        keys, stamps = batch.keys, batch.timestamps
        assert keys is not None
        self.cursor = cursor = iter(batch.values)
        if not self.event_time:
            stamps = [self.context.clock.now] * len(keys)
        elif stamps is None:
            self.spec.assigner.assign_windows(next(cursor), None, self.assigner_context)  # raises
            return
        entries, gap = self._table.batch_entries, self._fixed_gap
        records, fold = self._records, self.fold or NO_FOLD
        reducing, reduce, add = fold.reducing, fold.reduce, fold.add
        scope = self.scope
        for value, stamp, key in zip(cursor, stamps, keys):
            scope.key = key
            end = stamp + gap if gap is not None else self._end_of(value, stamp)
            sessions = entries.get(key)
            if sessions is None:
                self._open(key, None, stamp, end, value)
                continue
            session = sessions[-1]
            if session[0] <= stamp <= session[1]:
                if end > session[1]:
                    session[1] = end
                if records is not None:
                    records.add((key, session[2]), value, stamp)
                else:
                    session[2] = reduce(session[2], value) if reducing else add(value, session[2])
            elif stamp > session[1]:
                self._open(key, sessions, stamp, end, value)
            else:
                self._meet(key, sessions, stamp, end, value)
        self._table.dirty.update(keys)
        self.side.flush(self.output)

    def _end_of(self, value: Any, stamp: int) -> int:
        (window,) = self.spec.assigner.assign_windows(value, stamp, self.assigner_context)
        end: int = window.end
        return end

    def _open(self, key: Any, sessions: list[Session] | None, start: int, end: int, value: Any) -> None:
        """Open a session behind all others of the key."""
        if end - 1 <= self.watermark and self.event_time:
            self.drop_late(value, start)
            return
        fold = self.fold
        if fold is not None:
            first = value if fold.reducing else fold.add(value, fold.create())
        else:
            first = (start, end)
            self._add_record(key, first, value, start)
        self._sequence = sequence = self._sequence + 1
        session = [start, end, first, end - 1, sequence]
        heappush(self._heap, (end - 1, sequence, key))
        self._table.entries[key] = [*sessions, session] if sessions else [session]

    def _add_record(self, key: Any, namespace: Any, value: Any, stamp: int) -> None:
        assert self._records is not None
        self._records.add((key, namespace), value, stamp)

    def _meet(self, key: Any, sessions: list[Session], start: int, end: int, value: Any) -> None:
        """A record from before the last session: it opens a session, or belongs to one or several."""
        met = [session for session in sessions if session[_START] <= end and start <= session[_END]]
        if not met:
            self._open(key, sessions, start, end, value)
            if key in self._table.entries:
                self._table.entries[key].sort(key=_start_of)
            return
        session = self._merge(key, met)
        session[_START] = min(session[_START], start)
        session[_END] = max(session[_END], end)
        if self.fold is not None:
            session[_VALUE] = self.fold.step(session[_VALUE], value)
        else:
            self._add_record(key, session[_VALUE], value, start)
        gone = set(map(id, met[1:]))
        self._table.entries[key] = [other for other in sessions if id(other) not in gone]

    def _merge(self, key: Any, met: list[Session]) -> Session:
        """Put sessions together into the first of them, which is looked at when the earliest was to be."""
        session = met[0]
        for other in met[1:]:
            session[_END] = max(session[_END], other[_END])
            if self.fold is not None:
                session[_VALUE] = self.fold.merge(session[_VALUE], other[_VALUE])
            elif self._records is not None:
                self._records.merge((key, session[_VALUE]), [(key, other[_VALUE])])
        return session

    # ---- firing ------------------------------------------------------------------------------------------------

    def fire_event_time(self, watermark: int) -> None:
        """Fire the sessions that have ended in event time."""
        if self.event_time:
            self._fire_until(watermark)

    def fire_processing_time(self, now: int) -> None:
        """Fire the sessions that have ended in processing time."""
        if not self.event_time:
            self._fire_until(now)

    def _fire_until(self, time: int) -> None:
        heap, entries, changed = self._heap, self._table.entries, self._table.dirty.add
        while heap and heap[0][0] <= time:
            look, _, key = heappop(heap)
            sessions = entries.get(key, ())
            for session in sessions:
                if session[_LOOK] == look:
                    changed(key)
                    if session[_END] - 1 > look:  # it has been extended
                        session[_LOOK] = session[_END] - 1
                        self._set_timer(key, session)
                    else:
                        self._take_out(key, sessions, session)
                        self._fire(key, session)
                    break

    def _take_out(self, key: Any, sessions: list[Session], session: Session) -> None:
        if len(sessions) == 1:
            self._table.remove(key)
        else:
            self._table.entries[key] = [other for other in sessions if other is not session]

    def _fire(self, key: Any, session: Session) -> None:
        start, end, value, *_ = session
        if self._evaluate is None and self.fold is not None:
            self.scope.key = key
            self.emit_results((self.fold.result_of(value),), end - 1)
            return
        window = TimeWindow(start, end)
        elements = self._take_elements(key, value)
        if elements:
            self.evaluate(key, window, (start, end), elements)
        self.clear_function(key, window, (start, end))

    def _take_elements(self, key: Any, value: Any) -> Sequence[Any]:
        """What the window function is given; the records are deleted. Nothing if a fold has no result."""
        if self.fold is not None:
            self.scope.key = key
            result = self.fold.result_of(value)
            return [] if result is None else [result]
        assert self._records is not None
        elements = self._records.get((key, value)) or []
        self._records.clear((key, value))
        return elements

    def next_processing_time(self) -> int | None:
        """The processing time at which something is due next."""
        return None if self.event_time or not self._heap else self._heap[0][0]


def _start_of(session: Session) -> int:
    start: int = session[_START]
    return start
