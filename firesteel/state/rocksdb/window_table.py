"""Value state of windows that many keys share: windows in use in memory, the others on disk.

Of a window that is partly on disk, single keys come back as they are asked for; all of it does when it ends. With each
value on disk goes a number that grows in the order in which the keys came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

from firesteel.state.rocksdb.space import NUMBER, SAMPLE, Space, average_bytes, in_parts
from firesteel.state.tables import ABSENT, Delta
from firesteel.state.window_table import WindowTable


class _PartOfWindow(dict[Any, Any]):
    """The values of a window by key, of which some are on disk. Operators use it as a dict."""

    __slots__ = ("_backed", "_prefix", "_space", "on_disk")

    def __init__(self, space: Space, prefix: bytes, on_disk: int) -> None:
        super().__init__()
        self._space = space
        self._prefix = prefix
        self._backed: dict[Any, int] = {}
        """Keys in memory that are on disk too, and their numbers there."""
        self.on_disk = on_disk

    def __len__(self) -> int:
        return super().__len__() + self.on_disk - len(self._backed)

    def __bool__(self) -> bool:
        return len(self) > 0

    def _fetch(self, key: Any) -> Any:
        if self.on_disk == len(self._backed):
            return ABSENT
        space = self._space
        data = space.disk.get(self._prefix + space.keys.encode(key))
        if data is None or key in self._backed:
            return ABSENT
        return self._take_in(key, data, space.skip_key(data, 8))

    def _take_in(self, key: Any, data: bytes, start: int) -> Any:
        value = self._space.unpack(data, start)
        super().__setitem__(key, value)
        self._backed[key] = NUMBER.unpack_from(data)[0]
        return value

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._fetch(key) is not ABSENT

    def __missing__(self, key: Any) -> Any:
        value = self._fetch(key)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        if not super().__contains__(key):
            self._fetch(key)  # whether the disk has it has to be known
        super().__setitem__(key, value)

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            return self[key]
        return default

    def __delitem__(self, key: Any) -> None:
        if key not in self:
            raise KeyError(key)
        super().__delitem__(key)
        if key in self._backed:
            del self._backed[key]
            self.on_disk -= 1
            self._space.disk.write([self._prefix + self._space.keys.encode(key)], ())

    def pop(self, key: Any, default: Any = None) -> Any:
        """Take a value out; the default if there is none."""
        value = self.get(key, ABSENT)
        if value is ABSENT:
            return default
        del self[key]
        return value

    def fetch_all(self) -> dict[Any, Any]:
        """Everything, in a dict of its own, in the order in which the keys came."""
        space = self._space
        if self.on_disk != len(self._backed):
            for encoded, data in space.disk.scan(self._prefix):
                key, _, start = space.read_key(encoded, len(self._prefix), data, 8)
                if not super().__contains__(key):
                    self._take_in(key, data, start)
        here = dict(super().items())
        stored = sorted(self._backed, key=self._backed.__getitem__)
        return {key: here[key] for key in (*stored, *(key for key in here if key not in self._backed))}

    def peek(self) -> Iterator[tuple[Any, Any]]:
        """All items in order, without keeping those on disk in memory."""
        space, here, backed = self._space, dict(super().items()), self._backed
        stored = [(number, key, here[key]) for key, number in backed.items()]
        if self.on_disk != len(backed):
            for encoded, data in space.disk.scan(self._prefix):
                key, _, start = space.read_key(encoded, len(self._prefix), data, 8)
                if key not in here:
                    stored.append((NUMBER.unpack_from(data)[0], key, space.unpack(data, start)))
        stored.sort(key=itemgetter(0))
        yield from ((key, value) for _, key, value in stored)
        yield from ((key, value) for key, value in here.items() if key not in backed)

    def here(self) -> list[tuple[Any, Any, bytes | None]]:
        """What is in memory: key, value, and its number if it is on disk too."""
        backed = self._backed
        return [(key, value, NUMBER.pack(backed[key]) if key in backed else None) for key, value in super().items()]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fetch_all())

    def keys(self) -> Any:
        return self.fetch_all().keys()

    def values(self) -> Any:
        return self.fetch_all().values()

    def items(self) -> Any:
        return self.fetch_all().items()


class RocksWindowTable(WindowTable):
    """Namespace -> key -> value; a window of which nothing is on disk is a plain dict."""

    def __init__(self, space: Space) -> None:
        super().__init__()
        self._space = space
        self._tracking = False

    def _prefix(self, namespace: Any) -> bytes:
        return self._space.prefix + self._space.keys.encode(namespace)

    def pop_window(self, namespace: Any) -> dict[Any, Any]:
        """Take out all values of a namespace."""
        values = super().pop_window(namespace)
        if isinstance(values, _PartOfWindow):
            everything = values.fetch_all()
            self._wipe(namespace)
            return everything
        return values

    def _wipe(self, namespace: Any) -> None:
        disk = self._space.disk
        disk.write([encoded for encoded, _ in disk.scan(self._prefix(namespace))], ())

    def settle(self) -> int:
        """Forget what has changed if nobody will ask."""
        if not self._tracking:
            self.dirty.clear()
            self._removed.clear()
        return 0

    def _here(self, values: dict[Any, Any]) -> list[tuple[Any, Any, bytes | None]]:
        if isinstance(values, _PartOfWindow):
            return values.here()
        return [(key, value, None) for key, value in values.items()]

    def weight(self) -> int:
        """Roughly how many bytes of memory the windows use."""
        total = 0
        for values in self.entries.values():
            size = dict.__len__(values)
            sample = list(islice(dict.items(values), SAMPLE))
            total += size * average_bytes(sample)
        return total

    def spill(self, fraction: float) -> None:
        """Move windows to disk, those that were opened first before others."""
        space = self._space
        left = sum(dict.__len__(values) for values in self.entries.values()) * fraction
        for namespace, values in list(self.entries.items()):
            size = dict.__len__(values)
            if left <= 0:
                return
            left -= size
            prefix = self._prefix(namespace)
            puts = [
                (
                    prefix + space.keys.encode(key),
                    (number or space.next_number()) + space.pack_key(key) + space.pack(value),
                )
                for key, value, number in self._here(values)
            ]
            space.disk.write((), puts)
            self.entries[namespace] = _PartOfWindow(space, prefix, len(values))

    def start_tracking(self) -> None:
        """A full copy is taken: the next delta is what happens from now on."""
        self._tracking = True
        super().take_delta()

    def take_delta(self) -> Delta | None:
        """What has changed since the last call, or None; everything in the first call."""
        if self._tracking:
            return super().take_delta()
        self.start_tracking()
        return self.full() if len(self) else None

    def _all_values(self) -> Iterator[tuple[Any, Any]]:
        """All values; those on disk do not stay in memory."""
        for namespace, values in self.entries.items():
            everything = values.peek() if isinstance(values, _PartOfWindow) else iter(values.items())
            for key, value in everything:
                yield (key, namespace), value

    def full_parts(self) -> Iterator[Delta]:
        """The whole table in several deltas; one at least."""
        for puts in in_parts(self._all_values()):
            yield {"puts": puts, "removed": []}

    def full(self) -> Delta:
        """The whole table as a delta from nothing."""
        return {"puts": list(self._all_values()), "removed": []}

    def apply(self, delta: Delta, owned: Callable[[Any], bool] | None) -> None:
        """Apply a stored delta. ``owned``: which entry keys belong to this subtask (None: all)."""
        super().apply(delta, owned)
        self._tracking = True
