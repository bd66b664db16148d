"""Ended jobs in the format of Flink's history server: the answers of the REST API about them, kept in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from firesteel.events import JobView
from firesteel.rest import checkpoints, jobs, processes, vertices
from firesteel.state.filesystem import file_store

__all__ = ["answers_of", "archive", "write_archive"]

_MOST_EXCEPTIONS = 100


def answers_of(view: JobView) -> Iterator[tuple[str, Any]]:
    """All paths about a job that Flink archives, with what is to be answered there."""
    job = f"/jobs/{view.job.job_id}"
    yield "/jobs/overview", jobs.jobs_overview([view])
    yield job, jobs.details(view)
    yield f"{job}/plan", jobs.plan(view)
    yield f"{job}/config", jobs.execution_config(view)
    yield f"{job}/accumulators", jobs.accumulators(view)
    yield f"{job}/exceptions", jobs.exceptions(view, _MOST_EXCEPTIONS)
    yield f"{job}/jobmanager/config", jobs.configuration_of(view)
    yield f"{job}/jobmanager/environment", processes.environment_of_log(view)
    yield from _checkpoints(view, job)
    for vertex in view.job.vertices:
        at = f"{job}/vertices/{vertex.id}"
        yield at, vertices.details(view, vertex)
        yield f"{at}/accumulators", vertices.user_accumulators(view, vertex)
        yield f"{at}/subtasktimes", vertices.subtask_times(view, vertex)
        yield f"{at}/taskmanagers", vertices.by_process(view, vertex)
        yield f"{at}/subtasks/accumulators", vertices.subtask_accumulators(view, vertex)
        for index in range(vertex.parallelism):
            attempt = f"{at}/subtasks/{index}/attempts/{view.attempt}"
            yield f"{at}/subtasks/{index}", vertices.subtask(view, vertex, index)
            yield attempt, vertices.subtask(view, vertex, index)
            yield f"{attempt}/accumulators", vertices.attempt_accumulators(view, vertex, index)


def _checkpoints(view: JobView, job: str) -> Iterator[tuple[str, Any]]:
    yield f"{job}/checkpoints", checkpoints.overview(view)
    yield f"{job}/checkpoints/config", checkpoints.config(view)
    newest = {each.checkpoint_id: each for each in view.history.checkpoints}  # a savepoint may share a number
    for number, each in newest.items():
        at = f"{job}/checkpoints/details/{number}"
        yield at, checkpoints.details(view, each)
        for vertex in view.job.vertices:
            yield f"{at}/subtasks/{vertex.id}", checkpoints.subtasks(view, each, vertex)


def archive(view: JobView) -> dict[str, Any]:
    """A job as Flink's history server reads it: paths, and answers as texts."""
    return {"archive": [{"path": path, "json": json.dumps(answer)} for path, answer in answers_of(view)]}


def write_archive(view: JobView, directory: str) -> str:
    """Write the archive of a job that has ended; returns its path. The file has the job's id for its name."""
    file_store(directory).write(view.job.job_id, json.dumps(archive(view)).encode())
    return f"{directory.rstrip('/')}/{view.job.job_id}"
