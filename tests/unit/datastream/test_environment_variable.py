"""Programs take settings from FIRESTEEL_PROPERTIES; what they set themselves comes first."""

from __future__ import annotations

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment


def test_the_program_overrides_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "parallelism.default: 3\npipeline.name: nightly")
    configuration = Configuration.from_dict({"parallelism.default": 5})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    assert env.get_parallelism() == 5
    assert env.get_configuration().get_string("pipeline.name", "") == "nightly"
    assert configuration.key_set() == {"parallelism.default"}
