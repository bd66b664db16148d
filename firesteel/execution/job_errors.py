"""What has gone wrong with a job: what it means for the job, and how its user is told."""

from __future__ import annotations

from firesteel.common.warnings import FiresteelWarning
from firesteel.errors import CheckpointError, CommitError, FiresteelError, JobFailedError, StateMigrationError
from firesteel.execution.control.language import FailureKind
from firesteel.execution.coordinators import SinkFailedError
from firesteel.execution.directory_lock import DirectoryLostError
from firesteel.execution.ending import Interrupted, Terminated
from firesteel.runtime.failure import OperatorFailure, bounded

_ABOUT_STORED_STATE = {error.__name__: error for error in (CheckpointError, StateMigrationError)}


class ClusterLostError(JobFailedError):
    """The cluster is gone, and the job cannot get another one."""


class SubtaskMovedError(JobFailedError):
    """Spark has run a subtask on another executor than before, where its state is not."""


def kind_of(error: BaseException) -> FailureKind:
    """What a failure means for the job."""
    if isinstance(error, (KeyboardInterrupt, Terminated)):
        return FailureKind.OUTSIDE
    if isinstance(error, Interrupted):
        return FailureKind.INTERRUPTED
    # Records would be lost; the user has made warnings errors; or it is nothing that a job should survive.
    if isinstance(error, (SinkFailedError, FiresteelWarning)) or not isinstance(error, Exception):
        return FailureKind.FINAL
    if isinstance(error, SubtaskMovedError):
        return FailureKind.MOVED
    if isinstance(error, (ClusterLostError, DirectoryLostError)):
        return FailureKind.HOPELESS
    about_state = isinstance(error, OperatorFailure) and error.exception_type in _ABOUT_STORED_STATE
    return FailureKind.STORED_STATE if about_state or isinstance(error, CommitError) else FailureKind.EPOCH


def headline_of(error: BaseException) -> str:
    """The first line of an error."""
    return str(error).partition("\n")[0]


def shown_failure(error: BaseException, restarts: int, first: BaseException | None) -> JobFailedError:
    """The error that the user of a job sees; ``first``: what the job was restarted for the first time, if it was."""
    if isinstance(error, SinkFailedError):
        return _because(JobFailedError(str(error)), error.__cause__)
    if isinstance(error, JobFailedError) and first is None:
        return error
    return job_failure(error, restarts, first)


def job_failure(error: BaseException, restarts: int = 0, first: BaseException | None = None) -> JobFailedError:
    """The error that the user sees; ``first``: what the job was restarted for the first time."""
    text = error.describe() if isinstance(error, OperatorFailure) else bounded(f"{type(error).__name__}: {error}")
    if first is not None:
        headline = f"{type(first).__name__}: {first}" if not isinstance(first, OperatorFailure) else str(first)
        text += f"\n  restarts: {restarts}; the first failure was: {bounded(headline.partition(chr(10))[0], 1000)}"
    return _because(JobFailedError(text), _cause(error))


def _cause(error: BaseException) -> BaseException | None:
    """What failed, as an exception that can be told apart. What happened in workers comes as text."""
    if not isinstance(error, OperatorFailure):
        return error if bounded(str(error)) == str(error) else None
    about_state = _ABOUT_STORED_STATE.get(error.exception_type)
    return None if about_state is None else about_state(error.message)


def _because(failure: JobFailedError, cause: BaseException | None) -> JobFailedError:
    """Say what caused it. An error of ours says all in its message: the frames it came through would hide that."""
    if isinstance(cause, FiresteelError):
        cause = cause.with_traceback(None)
        cause.__cause__ = cause.__context__ = None
    failure.__cause__ = cause
    return failure
