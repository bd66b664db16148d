"""How event time is read from a stream: timestamps, watermarks, idleness, alignment."""

from __future__ import annotations

import copy
import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from firesteel.common.time import Duration, Instant, TimeLength, to_milliseconds
from firesteel.common.watermark import (
    BoundedOutOfOrdernessWatermarks,
    MonotonousTimestampsWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from firesteel.errors import ConfigurationError, TypeMismatchError, UnsupportedError

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "FieldTimestampAssigner",
    "TimestampAssigner",
    "Watermark",
    "WatermarkAlignment",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]


class TimestampAssigner(ABC):
    """Reads the event timestamp of an element. Must be picklable."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp of `value` in milliseconds since 1970-01-01T00:00:00Z.

        Called once for each element. `record_timestamp` is the one it already has (from the source, say), or
        the minimum of a 64-bit number if it has none.
        """


class FieldTimestampAssigner(TimestampAssigner):
    """Reads timestamps from a field: milliseconds as a whole number, or a datetime (of the local zone if it has none).

    The one assigner that needs no record: of columns it takes the column as it is. ::

        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FieldTimestampAssigner("time"))

    :param field: Its name, or its position.
    """

    def __init__(self, field: str | int) -> None:
        if isinstance(field, bool) or not isinstance(field, (str, int)) or field == "":
            raise ConfigurationError(f"FieldTimestampAssigner takes the name or position of a field, got {field!r}")
        self.field = field

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The timestamp in the field."""
        field = self.field
        by_name = isinstance(field, str) and not hasattr(value, "__getitem__")
        return self.to_milliseconds(getattr(value, str(field)) if by_name else value[field])

    def to_milliseconds(self, value: Any) -> int:
        """A value of the field as a timestamp."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, Instant):
            return value.seconds * 1000 + value.nanos // 1_000_000
        if isinstance(value, datetime.datetime):
            return (value.astimezone(datetime.timezone.utc) - _EPOCH) // datetime.timedelta(milliseconds=1)
        raise TypeMismatchError(
            f"the field {self.field!r} holds {value!r:.80} ({type(value).__name__}); event times are milliseconds as "
            "int, or datetimes"
        )


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class _CallableAssigner(TimestampAssigner):
    """A plain function as timestamp assigner."""

    def __init__(self, extract: Callable[[Any, int], int]) -> None:
        self.extract = extract

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self.extract(value, record_timestamp)


@dataclass(frozen=True)
class WatermarkAlignment:
    """Sources of one group may run ahead of the slowest of them by so much event time, looked at so often."""

    group: str
    max_drift_ms: int
    update_interval_ms: int


_DEFAULT_ALIGNMENT_INTERVAL = Duration.of_millis(1000)


@dataclass(frozen=True)
class WatermarkStrategy:
    """Says how a stream gets its timestamps and watermarks. Immutable: ``with_...`` returns a new one.

    ::

        strategy = (
            WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
            .with_timestamp_assigner(lambda ride, _: ride.started_at)
            .with_idleness(Duration.of_minutes(1))
        )

    A strategy without a timestamp assigner keeps the timestamps that elements already have.
    """

    generator_factory: Callable[[], WatermarkGenerator]
    timestamp_assigner: TimestampAssigner | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """For streams whose timestamps never fall; the watermark is the last timestamp - 1 ms."""
        return WatermarkStrategy(MonotonousTimestampsWatermarks)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: TimeLength) -> WatermarkStrategy:
        """For streams whose elements come at most that late.

        The watermark is the highest timestamp - `max_out_of_orderness` - 1 ms.
        """
        factory = partial(BoundedOutOfOrdernessWatermarks, max_out_of_orderness)
        factory()  # a bad bound should fail here, in the user's line, and not in a task
        return WatermarkStrategy(factory)

    @staticmethod
    def for_generator(generator_factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """For a generator of one's own: a class derived from WatermarkGenerator, or a callable making one.

        It is called without arguments, once for each subtask or split.
        """
        if not callable(generator_factory):
            raise ConfigurationError(
                f"for_generator() takes a callable that makes a WatermarkGenerator, got "
                f"{generator_factory!r}. Pass the class itself, or a lambda that makes an instance."
            )
        return WatermarkStrategy(generator_factory)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Make no watermarks: for programs that need processing time only."""
        return WatermarkStrategy(NoWatermarksGenerator)

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[Any, int], int]
    ) -> WatermarkStrategy:
        """Read timestamps with this assigner, or with this function of (value, record_timestamp)."""
        if isinstance(timestamp_assigner, TimestampAssigner):
            return replace(self, timestamp_assigner=timestamp_assigner)
        if not callable(timestamp_assigner):
            raise ConfigurationError(
                "a timestamp assigner is a TimestampAssigner or a function of (value, record_timestamp), "
                f"got {timestamp_assigner!r}. For instance lambda event, _: event.timestamp."
            )
        return replace(self, timestamp_assigner=_CallableAssigner(timestamp_assigner))

    def with_idleness(self, idle_timeout: TimeLength) -> WatermarkStrategy:
        """Take a split that was silent for so long out of the watermark, until it speaks again."""
        timeout = to_milliseconds(idle_timeout)
        if timeout <= 0:
            raise ConfigurationError(
                f"the idle timeout must be positive, got {timeout} ms. Leave with_idleness() out to wait for ever."
            )
        return replace(self, idle_timeout_ms=timeout)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: TimeLength,
        update_interval: TimeLength | None = None,
    ) -> WatermarkStrategy:
        """Keep the sources of a group close together in event time.

        Before an epoch the driver holds back the splits whose watermark is more than
        `max_allowed_watermark_drift` ahead of the lowest in `watermark_group`; the others are read as usual.
        The comparison is renewed at most every `update_interval` (1 s unless given), and never inside an
        epoch.
        """
        drift = to_milliseconds(max_allowed_watermark_drift)
        interval = to_milliseconds(_DEFAULT_ALIGNMENT_INTERVAL if update_interval is None else update_interval)
        if not watermark_group or drift < 0 or interval <= 0:
            raise ConfigurationError(
                "watermark alignment needs a group name, a drift of 0 or more and a positive interval, "
                f"got {watermark_group!r}, {drift} ms and {interval} ms."
            )
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift, interval))

    @property
    def timestamp_function(self) -> Callable[[Any, int], int] | None:
        """The assigner as a bare function, for the hot loop: the user's own where one was given."""
        assigner = self.timestamp_assigner
        if isinstance(assigner, _CallableAssigner):
            return assigner.extract
        return None if assigner is None else assigner.extract_timestamp

    def create_generator(self) -> WatermarkGenerator:
        """A new generator; the runtime makes one for each subtask or split."""
        generator = self.generator_factory()
        if not isinstance(generator, WatermarkGenerator):
            raise ConfigurationError(
                f"the generator factory {self.generator_factory!r} must make a WatermarkGenerator, "
                f"it made {generator!r}. Derive the generator's class from WatermarkGenerator."
            )
        return generator


class AssignerWithPeriodicWatermarksWrapper:
    """An assigner in the style before watermark strategies: one object that gives timestamps and watermarks.

    It has the methods ``extract_timestamp(element, record_timestamp)`` and ``get_current_watermark()``, which returns a
    :class:`Watermark`, a number of milliseconds, or None if there is nothing new to say::

        strategy = AssignerWithPeriodicWatermarksWrapper(MyAssigner()).as_watermark_strategy()
        stream.assign_timestamps_and_watermarks(strategy)

    In PyFlink it wraps an assigner that is written in Java, which is refused here.
    """

    def __init__(self, assigner: Any) -> None:
        for method in ("extract_timestamp", "get_current_watermark"):
            if not callable(getattr(assigner, method, None)):
                raise UnsupportedError(
                    "AssignerWithPeriodicWatermarksWrapper needs an object with the methods extract_timestamp() and "
                    f"get_current_watermark(), got {assigner!r} without {method}(). Assigners written in Java cannot "
                    "be used; WatermarkStrategy says the same in Python."
                )
        self._assigner = assigner

    def as_watermark_strategy(self) -> WatermarkStrategy:
        """The strategy that does what the assigner does, with a copy of it for each subtask or split."""
        strategy = WatermarkStrategy.for_generator(partial(_AssignersWatermarks, self._assigner))
        return strategy.with_timestamp_assigner(copy.deepcopy(self._assigner).extract_timestamp)


class _AssignersWatermarks(WatermarkGenerator):
    """Asks an assigner of the old style for its watermark, after it has seen the same elements."""

    def __init__(self, assigner: Any) -> None:
        self._assigner = copy.deepcopy(assigner)

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self._assigner.extract_timestamp(event, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        watermark = self._assigner.get_current_watermark()
        if watermark is not None:
            output.emit_watermark(watermark if isinstance(watermark, Watermark) else Watermark(watermark))
