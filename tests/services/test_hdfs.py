"""What is special about HDFS: two ways to it, one of which needs native code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firesteel.errors import ConfigurationError
from firesteel.state.file_systems import arrow_file_system


def _has_native_client() -> bool:
    places = [os.environ.get("ARROW_LIBHDFS_DIR"), os.environ.get("HADOOP_HOME", "/nowhere") + "/lib/native"]
    return any(place and (Path(place) / "libhdfs.so").exists() for place in places)


@pytest.mark.skipif(_has_native_client(), reason="Hadoop's native client is installed")
def test_without_the_native_client_the_error_says_what_to_do(hdfs: str) -> None:
    with pytest.raises(ConfigurationError, match=r"libhdfs\.so.*webhdfs://"):
        arrow_file_system(f"hdfs://{hdfs}/checkpoints")
