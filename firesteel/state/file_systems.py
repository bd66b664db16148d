"""Which file system a path or URI names: for checkpoints and savepoints, and for the files of connectors."""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from firesteel.errors import ConfigurationError

_OF_ARROW = ("s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss")
_DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True)
class S3Access:
    """How to reach S3; what is None is taken from the environment, in the way AWS's own tools do.

    :param endpoint: URL of another server than Amazon's; by the environment: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL.
    """

    endpoint: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    region: str | None = None


_s3 = S3Access()
_s3_of_job: ContextVar[S3Access | None] = ContextVar("s3 of the job", default=None)
"""In the threads of a job; a driver may have several jobs, each with an access of its own."""


def use_s3(access: S3Access) -> None:
    """Reach S3 in this way from now on: in this thread, and in those of the process that were not told otherwise."""
    global _s3
    _s3 = access
    _s3_of_job.set(access)


def s3_in_use() -> S3Access:
    """How S3 is reached from here."""
    return _s3_of_job.get() or _s3


def local_path(uri: str) -> str | None:
    """The absolute path that a path or a ``file:`` URI names on the local disk; None for another file system."""
    scheme = _scheme(uri)
    if not scheme:
        return os.path.abspath(uri)
    if scheme == "file":
        return os.path.abspath(unquote(uri.removeprefix("file://").removeprefix("file:")))
    return None


def _scheme(uri: str) -> str:
    return urlsplit(uri).scheme if "://" in uri or uri.startswith("file:") else ""


def arrow_file_system(uri: str) -> tuple[Any, str]:
    """The pyarrow file system of a URI, and the path in it: S3, GCS, HDFS and Azure, all others through fsspec.

    :raises ConfigurationError: It cannot be used; says what to install.
    """
    from pyarrow import fs

    scheme = _scheme(uri)
    try:
        if scheme == "s3":
            return _s3_file_system(uri)
        if scheme in _OF_ARROW:
            system, path = fs.FileSystem.from_uri(uri)
            return system, path.rstrip("/")
        import fsspec

        found, path = fsspec.core.url_to_fs(uri)
        return fs.PyFileSystem(fs.FSSpecHandler(found)), path.rstrip("/")
    except (ImportError, ValueError, OSError) as error:
        raise ConfigurationError(f"the file system of {uri!r} cannot be used: {error}. {_hint(scheme)}") from error


def _hint(scheme: str) -> str:
    if scheme in ("hdfs", "viewfs"):
        return (
            "hdfs:// needs Hadoop's native client on the driver and on all hosts: install Hadoop, and set HADOOP_HOME, "
            "ARROW_LIBHDFS_DIR (the directory of libhdfs.so), JAVA_HOME and CLASSPATH (`hadoop classpath --glob`). Or "
            "use webhdfs://host:port/path, which needs no native code: pip install fsspec requests"
        )
    if scheme in _OF_ARROW:
        return "Check the URI, and what the environment says of credentials."
    return f"Install fsspec and its driver for {scheme!r}, or use a local path."


def _s3_file_system(uri: str) -> tuple[Any, str]:
    from pyarrow import fs

    access, environment = s3_in_use(), os.environ
    endpoint = access.endpoint or environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    if not endpoint and access == S3Access():
        system, path = fs.FileSystem.from_uri(uri)
        return system, path.rstrip("/")
    region = access.region or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    settings: dict[str, Any] = {"access_key": access.access_key, "secret_key": access.secret_key}
    if endpoint:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        settings |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
        region = region or _DEFAULT_REGION  # other servers than Amazon's do not mind
    path = uri.partition("://")[2].rstrip("/")
    return fs.S3FileSystem(region=region or fs.resolve_s3_region(path.partition("/")[0]), **settings), path
