"""Archives of a job that runs in the driver's own process: unpacked, and linked where its functions look for them."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import zipfile

from firesteel.common import Configuration
from firesteel.common.options import PYTHON_ARCHIVES
from firesteel.common.warnings import warn_once
from firesteel.errors import ConfigurationError

__all__ = ["UnpackedArchives"]


class UnpackedArchives:
    """The archives of ``python.archives``, each below the working directory under its name, until :meth:`close`.

    The functions of such a job share the working directory with the program, so an archive is unpacked elsewhere and
    only a link to it is put there. What has that name already stays, and is used.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._links: list[str] = []
        self._folder: str | None = None
        try:
            for entry in configuration.get(PYTHON_ARCHIVES) or ():
                path, _, name = entry.partition("#")
                self._provide(path, name or os.path.basename(path))
        except BaseException:
            self.close()
            raise

    def _provide(self, path: str, name: str) -> None:
        link = os.path.abspath(name)
        if os.path.lexists(link):
            warn_once(
                f"{PYTHON_ARCHIVES.key} {link}",
                f"{PYTHON_ARCHIVES.key}: there is a {name} in the working directory already, which is used in place of "
                f"the content of {path}. Give the archive another name (path#name).",
            )
            return
        target = self._unpacked(path, name)
        try:
            os.symlink(target, link, target_is_directory=True)
        except OSError as error:
            raise ConfigurationError(
                f"{PYTHON_ARCHIVES.key}: {name} cannot be linked into the working directory {os.getcwd()}: "
                f"{error.strerror}. Functions look for it there; start the program from a directory it can write to."
            ) from error
        self._links.append(link)

    def _unpacked(self, path: str, name: str) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="firesteel-archives-")
        target = os.path.join(self._folder, str(len(self._links)), os.path.basename(name))
        try:
            _unpack(path, target)
        except (tarfile.TarError, zipfile.BadZipFile, OSError) as error:
            raise ConfigurationError(
                f"{PYTHON_ARCHIVES.key}: {path} cannot be unpacked: {error}. Archives are zip or tar files."
            ) from error
        return target

    def close(self) -> None:
        """Take the links and the unpacked files away."""
        for link in self._links:
            if os.path.islink(link):
                os.unlink(link)
        self._links.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _unpack(path: str, target: str) -> None:
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(target)
    else:
        with tarfile.open(path) as archive:
            archive.extractall(target, filter="data")  # nothing outside of the target
