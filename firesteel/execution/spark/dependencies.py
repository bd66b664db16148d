"""Bringing code to the executors: Firesteel itself where it is missing, and what the program adds."""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import cloudpickle

import firesteel
from firesteel.common import Configuration
from firesteel.common.options import PYTHON_ARCHIVES, PYTHON_FILES, PYTHON_REQUIREMENTS
from firesteel.execution.python_path import importable_root, install_requirements, library_directory
from firesteel.execution.spark.resources import is_local
from firesteel.state.work_directory import process_folder

_shipped: set[tuple[str, str]] = set()
"""(application, file): what has been sent already."""


@dataclass(frozen=True)
class Dependencies:
    """What was sent, and whether the program has archives of its own.

    :param package_archives: Names of unpacked archives with Python packages; folders that are on every host already.
    """

    package_archives: list[str]
    data_archives: bool


def ship_dependencies(context: Any, configuration: Configuration, cached_files: Iterable[str] = ()) -> Dependencies:
    """Send what the job's functions import and read to all executors, once per application."""
    if not is_local(context):
        _once(context, "firesteel", lambda: context.addPyFile(_package_zip()))
        for path in cached_files:
            _once(context, path, lambda path=path: context.addFile(path))  # type: ignore[misc]
    for path in configuration.get(PYTHON_FILES) or ():
        _once(context, path, lambda path=path: context.addPyFile(_single_file(path)))  # type: ignore[misc]
    archives = configuration.get(PYTHON_ARCHIVES) or ()
    for entry in archives:
        _once(context, entry, lambda entry=entry: context.addArchive(entry))  # type: ignore[misc]
    requirements = configuration.get(PYTHON_REQUIREMENTS)
    packages = [] if not requirements else [_ship_requirements(context, requirements)]
    library = library_directory(configuration)
    if library is not None:
        packages.append(library)
    return Dependencies(packages, bool(archives))


def _once(context: Any, name: str, ship: Callable[[], None]) -> None:
    key = (context.applicationId, name)
    if key not in _shipped:
        ship()
        _shipped.add(key)


def _ship_requirements(context: Any, requirements: str) -> str:
    """Install the requirements here, pack them, and let Spark unpack them everywhere."""
    name = f"firesteel-packages-{hashlib.sha256(requirements.encode()).hexdigest()[:12]}"

    def ship() -> None:
        folder = install_requirements(requirements)
        archive = shutil.make_archive(os.path.join(process_folder("ship"), name), "zip", folder)
        context.addArchive(f"{archive}#{name}")

    _once(context, name, ship)
    return name


def _single_file(path: str) -> str:
    """The path itself, or a directory packed into a zip file that Python can import from."""
    if not os.path.isdir(path):
        return path
    name = f"{os.path.basename(path)}-{hashlib.sha256(path.encode()).hexdigest()[:12]}.zip"
    packed = os.path.join(process_folder("ship"), name)
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        _add_package(archive, path, importable_root(path))
    return packed


def _package_zip() -> str:
    """Firesteel and cloudpickle as a zip file that Python can import from."""
    path = os.path.join(process_folder("ship"), "firesteel.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in (firesteel, cloudpickle):
            folder = os.path.dirname(os.path.abspath(package.__file__ or ""))
            _add_package(archive, folder, os.path.dirname(folder))
    return path


def _add_package(archive: zipfile.ZipFile, package_dir: str, root: str) -> None:
    """Add all Python files of a folder, and the tables they read, under their paths below ``root``."""
    for folder, _, names in os.walk(package_dir):
        for name in names:
            if name.endswith((".py", ".csv")):
                full = os.path.join(folder, name)
                archive.write(full, os.path.relpath(full, root))
