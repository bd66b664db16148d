"""Making the workers' copy of a plan."""

from __future__ import annotations

import sys

import cloudpickle

from firesteel.common import Configuration
from firesteel.common.options import (
    AUTO_WATERMARK_INTERVAL,
    CHECKPOINT_INCREMENTAL,
    CHUNK_MAX_RECORDS,
    EPOCH_MAX_BYTES,
    OBJECT_REUSE,
    PYTHON_LOGGING_LEVEL,
    PYTHON_LOGGING_LEVELS,
    ROCKSDB_LOCAL_DIRS,
    ROCKSDB_MEMORY,
    S3_ACCESS_KEY,
    S3_ENDPOINT,
    S3_REGION,
    S3_SECRET_KEY,
    SORT_MEMORY,
    STATE_BACKEND,
    WORK_DIR,
)
from firesteel.errors import ConfigurationError
from firesteel.execution.host import WorkerPlan
from firesteel.execution.worker_logging import levels_by_logger
from firesteel.plan.job_plan import JobPlan
from firesteel.pyflink import is_installed
from firesteel.runtime.worker_settings import WorkerSettings
from firesteel.state.choice import BackendChoice
from firesteel.state.file_systems import S3Access


def worker_plan(plan: JobPlan, job_id: str) -> WorkerPlan:
    """What the workers have to know of a job."""
    return WorkerPlan(
        job_id=job_id,
        levels=tuple(plan.level(level) for level in range(plan.level_count)),
        widths=tuple(plan.width(level) for level in range(plan.level_count)),
        settings=worker_settings(plan),
    )


def worker_settings(plan: JobPlan) -> WorkerSettings:
    """What the configuration and the program say about the workers."""
    configuration = plan.configuration
    return WorkerSettings(
        batch_mode=plan.batch_mode,
        job_parameters=plan.job_parameters,
        chunk_records=configuration.get(CHUNK_MAX_RECORDS),
        epoch_bytes=configuration.get(EPOCH_MAX_BYTES),
        object_reuse=configuration.get(OBJECT_REUSE),
        auto_watermark_interval=(
            configuration.get(AUTO_WATERMARK_INTERVAL)
            if configuration.contains_key(AUTO_WATERMARK_INTERVAL.key)
            else None
        ),
        sort_memory=configuration.get(SORT_MEMORY),
        work_directory=configuration.get(WORK_DIR),
        main_classes=main_classes(),
        serializers=cloudpickle.dumps(plan.serializers),
        cached_files=plan.cached_files,
        backend=_backend(plan),
        s3=s3_access(configuration),
        pyflink_names=is_installed(),
        log_level=configuration.get(PYTHON_LOGGING_LEVEL),
        log_levels=levels_by_logger(configuration.get(PYTHON_LOGGING_LEVELS)),
    )


def s3_access(configuration: Configuration) -> S3Access:
    """How the job reaches S3."""
    access = S3Access(
        endpoint=configuration.get(S3_ENDPOINT),
        access_key=configuration.get(S3_ACCESS_KEY),
        secret_key=configuration.get(S3_SECRET_KEY),
        region=configuration.get(S3_REGION),
    )
    if (access.access_key is None) != (access.secret_key is None):
        raise ConfigurationError(f"{S3_ACCESS_KEY.key} and {S3_SECRET_KEY.key} belong together: set both or neither")
    return access


def _backend(plan: JobPlan) -> BackendChoice:
    """The state backend, with each operator's share of a slot's memory. An unknown class is an error at once."""
    configuration = plan.configuration
    keyed = sum(operator.keyed for chain in plan.chains for operator in chain.operators)
    choice = BackendChoice(
        kind=configuration.get(STATE_BACKEND),
        memory=configuration.get(ROCKSDB_MEMORY) // max(1, keyed),
        directories=_state_directories(configuration),
        incremental=configuration.get(CHECKPOINT_INCREMENTAL),
    )
    choice.factory()
    return choice


def _state_directories(configuration: Configuration) -> tuple[str, ...]:
    """Where state that does not fit into memory goes."""
    paths = configuration.get(ROCKSDB_LOCAL_DIRS)
    if paths:
        return tuple(paths)
    work = configuration.get(WORK_DIR)
    return () if work is None else (work,)


def main_classes() -> bytes:
    """The classes that the program defines in its main script, by value.

    Records of these classes are pickled by reference to ``__main__``, in the driver and in workers, which is much
    quicker than by value; so ``__main__`` of a worker has to have them. A class that cannot be pickled is left out: it
    cannot be the class of a record either.
    """
    classes = {}
    for name, value in vars(sys.modules["__main__"]).items():
        if isinstance(value, type) and value.__module__ == "__main__":
            try:
                cloudpickle.dumps(value)
            except Exception:
                continue
            classes[name] = value
    data: bytes = cloudpickle.dumps(classes)
    return data
