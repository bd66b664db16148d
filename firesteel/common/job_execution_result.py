"""What is known about a job that has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common.job_id import JobID
from firesteel.errors import ConfigurationError

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """The outcome of a finished job: who it was, how long it ran, and its accumulators."""

    def __init__(self, job_id: JobID, net_runtime: int, accumulators: Mapping[str, Any] | None = None) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """How long the job ran, in milliseconds, without the time before it started."""
        return self._net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The final value of one accumulator."""
        if accumulator_name not in self._accumulators:
            have = ", ".join(sorted(self._accumulators)) or "none"
            raise ConfigurationError(f"the job has no accumulator {accumulator_name!r}; it has: {have}.")
        return self._accumulators[accumulator_name]

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """The final values of all accumulators by their names."""
        return dict(self._accumulators)

    def __repr__(self) -> str:
        return f"JobExecutionResult(job {self._job_id}, {self._net_runtime} ms)"
