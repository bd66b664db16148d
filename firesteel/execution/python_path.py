"""What has to be on Python's path so that the functions of a job find what the program has added."""

from __future__ import annotations

import os
import subprocess
import sys

from firesteel.common import Configuration
from firesteel.common.options import LIB_DIR, PYTHON_FILES, PYTHON_REQUIREMENTS
from firesteel.common.warnings import warn_once
from firesteel.errors import ConfigurationError
from firesteel.state.work_directory import process_folder


def importable_root(path: str) -> str:
    """The entry for the path: of a module its folder, of a package the folder it is in, else the path itself."""
    is_package = os.path.exists(os.path.join(path, "__init__.py"))
    return os.path.dirname(path) if is_package or path.endswith(".py") else path


def library_directory(configuration: Configuration) -> str | None:
    """The folder of modules that all jobs share, if there is one. Warns once that it is shared."""
    directory = configuration.get(LIB_DIR)
    if directory is not None:
        warn_once(
            LIB_DIR.key,
            f"{LIB_DIR.key}: the modules in {directory} are shared by all jobs on a host, so changing one changes them "
            "all. Use add_python_file() for what belongs to one job.",
        )
    return directory


def install_requirements(requirements: str) -> str:
    """Install a requirements file (``file`` or ``file#directory of packages``) into a new folder."""
    path, _, packages = requirements.partition("#")
    folder = process_folder("packages")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "-r", path]
    if packages:
        command += ["--no-index", "--find-links", packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ConfigurationError(f"the requirements in {path} could not be installed:\n{done.stderr.strip()}")
    return folder


def extend_own_path(configuration: Configuration) -> None:
    """Make everything that a job has added importable in this very process."""
    entries = [importable_root(path) for path in configuration.get(PYTHON_FILES) or ()]
    requirements = configuration.get(PYTHON_REQUIREMENTS)
    if requirements:
        entries.append(install_requirements(requirements))
    library = library_directory(configuration)
    if library is not None:
        entries.append(library)
    sys.path.extend(entry for entry in entries if entry not in sys.path)
