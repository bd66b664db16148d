"""How often and how long apart an asynchronous call is tried again."""

from firesteel.model.functions.asynchronous import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = [
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NO_RETRY_STRATEGY",
    "NoRetryStrategy",
    "RetryPredicate",
]
