"""What to say where a method is called on the wrong kind of stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

__all__ = ["StreamHints"]

_ALL_KEYS = "for one window over all keys"

ON_DATA_STREAM = {
    "window": f"Windows are per key: call key_by(...) before window(...), or window_all(...) {_ALL_KEYS}.",
    "time_window": f"Windows are per key: call key_by(...) first, or time_window_all(...) {_ALL_KEYS}.",
    "count_window": f"Windows are per key: call key_by(...) first, or count_window_all(...) {_ALL_KEYS}.",
    "interval_join": "An interval join is between keyed streams: call key_by(...) on both.",
    **{
        name: f"{name}(...) is per key: call key_by(...) first, or window_all(...) {_ALL_KEYS}."
        for name in ("reduce", "sum", "min", "max", "min_by", "max_by")
    },
    "aggregate": "aggregate(...) is for windows: call key_by(...).window(...) first, or window_all(...).",
    "apply": "apply(...) is for windows: call key_by(...).window(...) first, or window_all(...).",
    "execute": "Streams are built first and run together: call execute() on the environment.",
    "collect": "execute_and_collect() runs the job and gives the records.",
    "foreach": "add_sink(...) calls a function for each record.",
}
"""Methods that a stream does not have, and what does the same."""

ON_WINDOWED_STREAM = {
    name: f"A window needs a function before {name}(...): reduce(...), aggregate(...), apply(...) or process(...)."
    for name in ("map", "flat_map", "filter", "key_by", "print", "sink_to", "add_sink", "execute_and_collect")
}

ON_CONNECTED_STREAMS = {
    name: f"Connected streams have map(...), flat_map(...) and process(...), which make one stream; then {name}(...)."
    for name in ("filter", "print", "sink_to", "add_sink", "union", "window", "reduce", "execute_and_collect")
}

ON_BROADCAST_STREAM = dict.fromkeys(
    ("map", "flat_map", "filter", "process", "key_by", "print", "connect"),
    "A broadcast stream is read by another one: stream.connect(broadcast).process(...).",
)

ON_JOIN = dict.fromkeys(
    ("key_by", "window", "where", "equal_to", "apply", "map", "process", "print"),
    "A join is written join(other).where(key).equal_to(key).window(...).apply(...).",
)

ON_ENVIRONMENT = {
    **dict.fromkeys(("run", "start", "submit"), "execute() runs what was built."),
    **dict.fromkeys(
        ("read_csv", "read_csv_file", "read_file", "read_parquet", "read_json", "read_files"),
        "from_source(...) takes a FileSource of firesteel.datastream.connectors.file_system, with a format of "
        "firesteel.datastream.formats; from_dataframe(...) takes what Spark reads.",
    ),
    **dict.fromkeys(("from_list", "from_iterable"), "from_collection([...]) makes a stream of a list."),
    "print": "print() is a method of streams.",
}


class StreamHints:
    """Explains methods that a kind of stream does not have. Those it has are found before this is asked."""

    _hints: Mapping[str, str] = {}

    if not TYPE_CHECKING:  # a type checker is to find such calls, not to take them for granted

        def __getattr__(self, name: str) -> object:
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            hint = self._hints.get(name) or self._hints.get(_snake_case(name))
            raise AttributeError(message if hint is None else f"{message}. {hint}", name=name, obj=self)


def _snake_case(name: str) -> str:
    """``countWindow``, as it is called in Java, is ``count_window`` here."""
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
