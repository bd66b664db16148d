"""What happens when a job fails: whether it is started again, and after how long.

A strategy is a plain description. :meth:`RestartStrategyConfiguration.new_policy` makes the small machine
that is told of each failure and answers with the wait before the restart, or None when the job has failed for
good.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

from firesteel.common import options
from firesteel.common.configuration import Configuration
from firesteel.common.time import TimeLength, to_milliseconds
from firesteel.errors import ConfigurationError

__all__ = ["RestartPolicy", "RestartStrategies", "RestartStrategyConfiguration", "restart_strategy_of"]


class RestartPolicy(ABC):
    """Decides, failure by failure, about one running job. Holds no clock: it is told the time."""

    @abstractmethod
    def on_failure(self, now_ms: int) -> int | None:
        """How many milliseconds to wait before the restart, or None if the job must not be restarted."""


class _FixedDelayPolicy(RestartPolicy):
    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._left = attempts
        self._delay_ms = delay_ms

    def on_failure(self, now_ms: int) -> int | None:
        if self._left <= 0:
            return None
        self._left -= 1
        return self._delay_ms


class _FailureRatePolicy(RestartPolicy):
    def __init__(self, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        self._max_failures = max_failures
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms
        self._recent: deque[int] = deque()

    def on_failure(self, now_ms: int) -> int | None:
        while self._recent and now_ms - self._recent[0] > self._interval_ms:
            self._recent.popleft()
        if len(self._recent) >= self._max_failures:
            return None
        self._recent.append(now_ms)
        return self._delay_ms


class _ExponentialDelayPolicy(RestartPolicy):
    def __init__(self, strategy: RestartStrategies.ExponentialDelayRestartStrategyConfiguration) -> None:
        self._strategy = strategy
        self._backoff_ms = float(strategy.initial_backoff_ms)
        self._restarts = 0
        self._resumed_at: int | None = None

    def on_failure(self, now_ms: int) -> int | None:
        strategy = self._strategy
        quiet = None if self._resumed_at is None else now_ms - self._resumed_at
        if quiet is not None and quiet >= strategy.reset_backoff_threshold_ms:
            self._backoff_ms = float(strategy.initial_backoff_ms)
            self._restarts = 0
        if strategy.attempts is not None and self._restarts >= strategy.attempts:
            return None
        spread = self._backoff_ms * strategy.jitter_factor
        wait = round(min(self._backoff_ms + random.uniform(-spread, spread), strategy.max_backoff_ms))
        self._backoff_ms = min(self._backoff_ms * strategy.backoff_multiplier, strategy.max_backoff_ms)
        self._restarts += 1
        self._resumed_at = now_ms + wait
        return wait


class RestartStrategyConfiguration(ABC):
    """Describes a restart strategy; made by :class:`RestartStrategies`."""

    @abstractmethod
    def get_description(self) -> str:
        """The strategy in a few words."""

    @abstractmethod
    def new_policy(self) -> RestartPolicy | None:
        """The machine that decides for one job; None where the strategy leaves that to the configuration."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"<{self.get_description()}>"


def _whole(value: Any, what: str, minimum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise ConfigurationError(f"{what} must be a whole number of at least {minimum}, got {value!r}.")
    return value


def _length(value: TimeLength, what: str) -> int:
    milliseconds = to_milliseconds(value)
    if milliseconds < 0:
        raise ConfigurationError(f"{what} must not be negative, got {milliseconds} ms.")
    return milliseconds


class RestartStrategies:
    """Makes restart strategies: ``env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 1000))``.

    Lengths of time are milliseconds, Time, Duration or timedelta.
    """

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failure ends the job."""

        def __init__(self) -> None:
            super().__init__()

        def get_description(self) -> str:
            """The strategy in a few words."""
            return "no restart"

        def new_policy(self) -> RestartPolicy:
            """A policy that never restarts."""
            return _FixedDelayPolicy(0, 0)

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The configuration decides (``restart-strategy.type``)."""

        def __init__(self) -> None:
            super().__init__()

        def get_description(self) -> str:
            """The strategy in a few words."""
            return "as the configuration says"

        def new_policy(self) -> RestartPolicy | None:
            """None: the policy comes from the strategy that the configuration names."""
            return None

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """So many restarts, each after the same wait."""

        def __init__(
            self,
            restart_attempts: int | None = None,
            delay_between_attempts_interval: TimeLength | None = None,
        ) -> None:
            attempts = options.FIXED_DELAY_ATTEMPTS.default if restart_attempts is None else restart_attempts
            delay = delay_between_attempts_interval
            self._restart_attempts = _whole(attempts, "the number of restarts", 0)
            self._delay_ms = _length(options.FIXED_DELAY_DELAY.default if delay is None else delay, "the delay")

        def get_restart_attempts(self) -> int:
            """How many restarts there may be."""
            return self._restart_attempts

        def get_delay_between_attempts_interval(self) -> int:
            """The wait before each restart, in milliseconds."""
            return self._delay_ms

        def get_description(self) -> str:
            """The strategy in a few words."""
            return f"up to {self._restart_attempts} restarts, each after {self._delay_ms} ms"

        def new_policy(self) -> RestartPolicy:
            """A policy that counts the restarts."""
            return _FixedDelayPolicy(self._restart_attempts, self._delay_ms)

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as failures are not too frequent."""

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: TimeLength | None = None,
            delay_between_attempts_interval: TimeLength | None = None,
        ) -> None:
            rate = options.FAILURE_RATE_MAX.default if max_failure_rate is None else max_failure_rate
            interval = options.FAILURE_RATE_INTERVAL.default if failure_interval is None else failure_interval
            delay = delay_between_attempts_interval
            self._max_failure_rate = _whole(rate, "the number of failures per interval", 1)
            self._interval_ms = _length(interval, "the failure interval")
            self._delay_ms = _length(options.FAILURE_RATE_DELAY.default if delay is None else delay, "the delay")

        def get_max_failure_rate(self) -> int:
            """How many failures in one interval are restarted."""
            return self._max_failure_rate

        def get_failure_interval(self) -> int:
            """The interval in which failures are counted, in milliseconds."""
            return self._interval_ms

        def get_delay_between_attempts_interval(self) -> int:
            """The wait before each restart, in milliseconds."""
            return self._delay_ms

        def get_description(self) -> str:
            """The strategy in a few words."""
            return (
                f"restarts after {self._delay_ms} ms while at most {self._max_failure_rate} failures "
                f"fall within {self._interval_ms} ms"
            )

        def new_policy(self) -> RestartPolicy:
            """A policy that remembers the failures of the last interval."""
            return _FailureRatePolicy(self._max_failure_rate, self._interval_ms, self._delay_ms)

    class ExponentialDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Waits that grow with each failure, up to a longest one, and start over after a quiet time."""

        def __init__(
            self,
            initial_backoff: TimeLength,
            max_backoff: TimeLength,
            backoff_multiplier: float,
            reset_backoff_threshold: TimeLength,
            jitter_factor: float,
            attempts: int | None = None,
        ) -> None:
            self.initial_backoff_ms = _length(initial_backoff, "the first wait")
            self.max_backoff_ms = _length(max_backoff, "the longest wait")
            self.reset_backoff_threshold_ms = _length(reset_backoff_threshold, "the quiet time")
            self.backoff_multiplier = float(backoff_multiplier)
            self.jitter_factor = float(jitter_factor)
            self.attempts = attempts if attempts is None else _whole(attempts, "the number of restarts", 0)
            if self.initial_backoff_ms > self.max_backoff_ms or self.backoff_multiplier < 1:
                raise ConfigurationError(
                    "an exponential delay grows from its first to its longest wait, got "
                    f"{self.initial_backoff_ms} ms, {self.max_backoff_ms} ms and factor "
                    f"{self.backoff_multiplier}. Raise the longest wait to the first, the factor to 1."
                )
            if not 0 <= self.jitter_factor <= 1:
                raise ConfigurationError(f"the jitter factor lies in 0..1, got {self.jitter_factor}.")

        def get_description(self) -> str:
            """The strategy in a few words."""
            return (
                f"restarts after {self.initial_backoff_ms} ms, growing by {self.backoff_multiplier} "
                f"to at most {self.max_backoff_ms} ms"
            )

        def new_policy(self) -> RestartPolicy:
            """A policy that remembers the last wait."""
            return _ExponentialDelayPolicy(self)

    @staticmethod
    def no_restart() -> RestartStrategyConfiguration:
        """A failure ends the job."""
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> RestartStrategyConfiguration:
        """The configuration decides."""
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(restart_attempts: int, delay_between_attempts: TimeLength) -> RestartStrategyConfiguration:
        """At most so many restarts, each after the same wait."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: TimeLength, delay_interval: TimeLength
    ) -> RestartStrategyConfiguration:
        """Restarts as long as there are at most `failure_rate` failures in `failure_interval`."""
        kind = RestartStrategies.FailureRateRestartStrategyConfiguration
        return kind(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: TimeLength,
        max_backoff: TimeLength,
        backoff_multiplier: float,
        reset_backoff_threshold: TimeLength,
        jitter_factor: float,
    ) -> RestartStrategyConfiguration:
        """Restarts without end, after waits that grow with each failure."""
        kind = RestartStrategies.ExponentialDelayRestartStrategyConfiguration
        return kind(initial_backoff, max_backoff, backoff_multiplier, reset_backoff_threshold, jitter_factor)


def restart_strategy_of(configuration: Configuration) -> RestartStrategyConfiguration:
    """The strategy that a configuration names; by default exponential delay where checkpoints are made."""
    name = configuration.get(options.RESTART_STRATEGY)
    if name is None:
        checkpointing = configuration.get(options.CHECKPOINT_INTERVAL) is not None
        name = "exponential-delay" if checkpointing else "none"
    get = configuration.get
    if name == "fixed-delay":
        return RestartStrategies.fixed_delay_restart(get(options.FIXED_DELAY_ATTEMPTS), get(options.FIXED_DELAY_DELAY))
    if name == "failure-rate":
        return RestartStrategies.failure_rate_restart(
            get(options.FAILURE_RATE_MAX), get(options.FAILURE_RATE_INTERVAL), get(options.FAILURE_RATE_DELAY)
        )
    if name == "exponential-delay":
        return RestartStrategies.ExponentialDelayRestartStrategyConfiguration(
            get(options.EXPONENTIAL_INITIAL),
            get(options.EXPONENTIAL_MAX),
            get(options.EXPONENTIAL_MULTIPLIER),
            get(options.EXPONENTIAL_RESET),
            get(options.EXPONENTIAL_JITTER),
            get(options.EXPONENTIAL_ATTEMPTS),
        )
    return RestartStrategies.no_restart()
