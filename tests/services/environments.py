"""Environments with other versions of Spark and of Python, and running the project's own tests in them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.servers import ROOT

ENVIRONMENTS = ROOT / "build" / "environments"

_TOGETHER = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
"""Two processes share the tests, as in `make test`."""

# What PySpark itself leaves to Python's garbage collector, before it closed its sockets: 3.5 to 4.2.
_SPARKS_OWN_WARNINGS = (
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning",
    "ignore:distutils Version classes are deprecated:DeprecationWarning",
)


def environment(name: str, python: str, **pins: str) -> Path:
    """The Python of an environment with everything that the tests need: made once, kept under ``build/``.

    :param python: The Python to make it with.
    :param pins: Versions other than those of ``constraints.txt``.
    """
    directory = ENVIRONMENTS / name
    constraints = _constraints(pins)
    wanted = hashlib.sha256(((ROOT / "pyproject.toml").read_text() + constraints).encode()).hexdigest()
    stamp = directory / ".installed"
    own = directory / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        pinned = ENVIRONMENTS / f"{name}-constraints.txt"
        pinned.write_text(constraints)
        _run([str(ROOT / "scripts" / "ensure-venv.sh"), python, str(directory)])
        _run([str(own), "-m", "pip", "install", "--quiet", "-c", str(pinned), "-e", f"{ROOT}[dev]"])
        stamp.write_text(wanted)
    return own


def _constraints(pins: dict[str, str]) -> str:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    kept = [line for line in lines if not line.startswith("#") and line.partition("==")[0].lower() not in pins]
    return "\n".join([*kept, *(f"{name}=={version}" for name, version in pins.items())]) + "\n"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(
            f"{' '.join(command)} has failed; pip must reach PyPI, or a mirror of it:\n{done.stderr[-2000:]}",
            pytrace=False,
        )


def find_python(version: str) -> str | None:
    """A Python of this version that runs: on the PATH, or among pyenv's, whose commands need not be switched on."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))]
    return next((each for each in found if each is not None and _is_version(each, version)), None)


def _is_version(python: str, version: str) -> bool:
    ask = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == version


def run_tests(python: Path, *selection: str, minutes: int) -> None:
    """Run the project's tests with another Python; those without a selection are what `make test` runs."""
    warnings = [part for text in _SPARKS_OWN_WARNINGS for part in ("-W", text)]
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYSPARK_"))}
    variables["PATH"] = os.pathsep.join([str(python.parent), variables.get("PATH", "")])
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *_TOGETHER, *warnings, *selection],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60 * minutes,
        check=False,
    )
    sys.stdout.write(done.stdout)
    assert done.returncode == 0, done.stdout[-5000:]
