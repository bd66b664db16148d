"""Jobs that are started, and can be operated from outside while they run."""

from __future__ import annotations

import importlib
import threading

from firesteel.common import Configuration, JobClient
from firesteel.common.options import ARCHIVE_DIR, REST_PORT, SAVEPOINT_DIR
from firesteel.errors import ConfigurationError
from firesteel.execution.driver import JobDriver
from firesteel.execution.ending import end_with_program, orderly_signals
from firesteel.execution.job import EngineJobClient, Job


def start(driver: JobDriver, job: Job, configuration: Configuration, detached: bool) -> JobClient:
    """Run a job, in the calling thread unless ``detached``. Who gets the client finds the job wherever it is shown."""
    client = EngineJobClient(job, configuration.get(SAVEPOINT_DIR))
    _open_to_operators(job, client, configuration)
    driver.announce()
    if detached:
        end_with_program(job)
        threading.Thread(target=driver.run, name=f"firesteel-{job.name}", daemon=True).start()
    else:
        with orderly_signals():
            driver.run()
    return client


def _open_to_operators(job: Job, client: EngineJobClient, configuration: Configuration) -> None:
    """Show a job that is about to run in the REST API of this process, and archive it when it ends, if wanted."""
    directory: str | None = configuration.get(ARCHIVE_DIR)
    if configuration.get(REST_PORT) is None and directory is None:
        return
    try:
        rest = importlib.import_module("firesteel.rest")  # a layer above, and dependencies that few need
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"{ARCHIVE_DIR.key if directory else REST_PORT.key} asks for the REST API, which needs {error.name}: "
            "pip install 'firesteel[rest]'"
        ) from None
    rest.show_job(client, configuration)
    if directory is not None:
        job.on_end(lambda: rest.archive_job(client, directory))
