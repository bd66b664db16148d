"""Jobs that can be operated from outside while they run."""

from __future__ import annotations

import importlib

from firesteel.common import Configuration
from firesteel.common.options import REST_PORT
from firesteel.errors import ConfigurationError
from firesteel.execution.job import EngineJobClient


def open_to_operators(client: EngineJobClient, configuration: Configuration) -> EngineJobClient:
    """Show a job that is about to run in the REST API of this process, if one is wanted."""
    if configuration.get(REST_PORT) is not None:
        try:
            rest = importlib.import_module("firesteel.rest")  # a layer above, and dependencies that few need
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"rest.port asks for the REST API, which needs {error.name}: pip install 'firesteel[rest]'"
            ) from None
        rest.show_job(client, configuration)
    return client
