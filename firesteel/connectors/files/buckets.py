"""Which folder of a file sink a record goes to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from firesteel.connectors.files.date_format import date_formatter
from firesteel.errors import ConfigurationError, ProgramError
from firesteel.model.sink import WriterContext

__all__ = ["BucketAssigner"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_REMEMBERED = 4096


class BucketAssigner(ABC):
    """Says into which folder below the sink's base path a record goes. Must be picklable.

    ::

        class ByCountry(BucketAssigner):
            def get_bucket_id(self, element, context):
                return f"country={element.country}"
    """

    looks_at_records = True
    """Whether the folder depends on the record or its timestamp; otherwise many are given a folder at once."""

    @abstractmethod
    def get_bucket_id(self, element: Any, context: WriterContext) -> str:
        """The folder, relative to the base path, with ``/`` between its parts; ``""`` is the base path itself.

        Called in the task, once per record. ``context`` has the record's timestamp, the watermark and the time.
        """

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All files directly in the base path."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Folders by the processing time at which a record is written.

        :param format_str: A pattern of Java's ``DateTimeFormatter``.
        :param timezone_id: Such as ``Europe/Berlin``; the time zone of the machine if it is None.
        """
        return _DateTime(format_str, timezone_id, event_time=False)

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Folders by the timestamp of the record. A record without one is an error. Not in PyFlink.

        :param format_str: A pattern of Java's ``DateTimeFormatter``.
        :param timezone_id: Such as ``Europe/Berlin``; the time zone of the machine if it is None.
        """
        return _DateTime(format_str, timezone_id, event_time=True)


class _BasePath(BucketAssigner):
    looks_at_records = False

    def get_bucket_id(self, element: Any, context: WriterContext) -> str:
        return ""


class _DateTime(BucketAssigner):
    def __init__(self, pattern: str, zone_name: str | None, event_time: bool) -> None:
        date_formatter(pattern)  # a wrong pattern is found here, not in the task
        _zone(zone_name)
        self._pattern = pattern
        self._zone_name = zone_name
        self._event_time = event_time
        self.looks_at_records = event_time
        self._prepare()

    def _prepare(self) -> None:
        self._format = date_formatter(self._pattern)
        self._zone = _zone(self._zone_name)
        # Texts by the smallest unit that the pattern can show: writing a date costs more than all else here.
        self._unit = 1 if "S" in self._pattern else 1000
        self._texts: dict[int, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return _DateTime, (self._pattern, self._zone_name, self._event_time)

    def get_bucket_id(self, element: Any, context: WriterContext) -> str:
        at = context.timestamp if self._event_time else context.current_processing_time
        if at is None:
            raise ProgramError(
                f"the record {element!r:.80} has no timestamp, which its folder is named by. Give the stream a "
                "WatermarkStrategy that has a with_timestamp_assigner(...), or use date_time_bucket_assigner() for "
                "processing time."
            )
        unit = at // self._unit
        text = self._texts.get(unit)
        if text is None:
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            text = self._texts[unit] = self._format((_EPOCH + timedelta(milliseconds=at)).astimezone(self._zone))
        return text


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationError(
            f"there is no time zone {name!r} on this machine. For instance 'UTC' or 'Europe/Berlin'; install the "
            "package tzdata if the machine has no time zones."
        ) from error
