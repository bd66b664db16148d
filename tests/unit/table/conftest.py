"""Table environments that run in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from firesteel.common import Configuration
from firesteel.table import EnvironmentSettings, TableEnvironment

Make = Callable[..., TableEnvironment]


@pytest.fixture
def table_environment() -> Make:
    """Makes an environment of one subtask in this process."""

    def make(batch: bool = False, **settings: str) -> TableEnvironment:
        configuration = Configuration.from_dict(
            {
                "execution.target": "in-process",
                "parallelism.default": "1",
                "table.local-time-zone": "UTC",
                **{key.replace("__", "."): value for key, value in settings.items()},
            }
        )
        builder = EnvironmentSettings.new_instance().with_configuration(configuration)
        return TableEnvironment.create((builder.in_batch_mode() if batch else builder.in_streaming_mode()).build())

    return make
