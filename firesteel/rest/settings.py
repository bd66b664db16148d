"""Settings of a job, read from what its description tells of them."""

from __future__ import annotations

from typing import Any

from firesteel.common import Configuration
from firesteel.common.config_options import ConfigOption
from firesteel.common.options import names_of
from firesteel.events import JobView

__all__ = ["settings_of"]


def settings_of(view: JobView, *options: ConfigOption[Any]) -> Configuration:
    """These options as the job has them. Others are left alone: a log may come from another version."""
    wanted = {name for option in options for name in names_of(option.key)}
    return Configuration.from_dict({key: value for key, value in view.job.configuration.items() if key in wanted})
