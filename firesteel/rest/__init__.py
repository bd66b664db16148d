"""The REST API of jobs, in the form of Flink's: watching them, cancelling them, savepoints.

It is off unless ``firesteel run --rest`` or the option ``rest.port`` asks for it, and needs ``firesteel[rest]``. Jobs
of which there is only a log can be shown too::

    import uvicorn
    from firesteel.rest import JobRegistry, create_app

    uvicorn.run(create_app(JobRegistry(logs="/data/checkpoints")), port=8082)
"""

from __future__ import annotations

from firesteel.rest.app import create_app
from firesteel.rest.archive import write_archive
from firesteel.rest.registry import JobRegistry, SteeredJob
from firesteel.rest.security import Access
from firesteel.rest.server import RestServer, archive_job, show_job

__all__ = [
    "Access",
    "JobRegistry",
    "RestServer",
    "SteeredJob",
    "archive_job",
    "create_app",
    "show_job",
    "write_archive",
]
