"""The wheel, not the checkout: built, installed into a fresh environment, and running the README's program elsewhere.

Heavy dependencies are not downloaded again: the fresh environment sees those of this one, through a path file. A path
file does not make Python read further path files, so the checkout, if it is installed here, stays out of sight.
"""

from __future__ import annotations

import email
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLDEST_SETUPTOOLS = 77
SOURCES = ("firesteel", "pyproject.toml", "setup.py", "README.md", "LICENSE")
REPOSITORY = "https://git.example.org/firesteel"


def run(*command: object, cwd: Path, properties: str = "", repository: str = "") -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"FIRESTEEL_PROPERTIES": properties, "FIRESTEEL_REPOSITORY": repository}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: building in the checkout would leave its traces there."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    # Where the setuptools of this environment is too old, pip fetches a newer one for the build.
    new_enough = int(importlib.metadata.version("setuptools").partition(".")[0]) >= OLDEST_SETUPTOOLS
    options = ["--no-build-isolation"] if new_enough else []
    pip = (sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--quiet", "--no-deps", *options)
    run(*pip, "--wheel-dir", folder, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    here = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in here))
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--no-deps", "--no-index", "--disable-pip-version-check", "--quiet", wheel, cwd=folder)
    return python


def readme_program() -> tuple[str, str]:
    """The program of the README and what it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert found is not None, "the README shows no program with its output"
    return found.group(1), found.group(2)


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"firesteel"}
    assert "firesteel/py.typed" in names
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "firesteel").rglob("*.py")}
    assert modules <= set(names)


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def relative_links(description: str) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", description) if not re.match(r"[a-z]+:|#", link)]


def test_the_description_has_no_links_that_only_a_checkout_has(wheel: Path) -> None:
    described = metadata(wheel)
    text = described.get_payload()
    assert described["Description-Content-Type"] == "text/markdown"
    assert "pip install firesteel" in text
    assert relative_links(text) == []
    assert relative_links("[a](docs/a.md) [b](https://x.org) [c](#d)") == ["docs/a.md"]


def test_a_repository_that_is_known_is_linked_to(wheel: Path, tmp_path: Path) -> None:
    source = wheel.parent / "source"
    run(
        sys.executable, "setup.py", "-q", "egg_info", "--egg-base", tmp_path, cwd=source, repository=f"{REPOSITORY}.git"
    )
    described = email.message_from_bytes((tmp_path / "firesteel.egg-info" / "PKG-INFO").read_bytes())
    assert described.get_all("Project-URL") == [
        f"Repository, {REPOSITORY}",
        f"Documentation, {REPOSITORY}/blob/main/docs/index.md",
        f"Changes, {REPOSITORY}/blob/main/CHANGELOG.md",
    ]
    text = described.get_payload()
    assert f"]({REPOSITORY}/blob/main/docs/features.md)" in text
    assert relative_links(text) == []


def test_what_runs_is_the_wheel(python: Path, tmp_path: Path) -> None:
    place = run(python, "-c", "import firesteel; print(firesteel.__file__)", cwd=tmp_path).strip()
    assert place.startswith(str(python.parents[1]))


def test_the_readme_program_runs_in_a_fresh_environment(python: Path, tmp_path: Path) -> None:
    program, expected = readme_program()
    (tmp_path / "loans.py").write_text(program, encoding="utf-8")
    command = python.parent / "firesteel"
    assert run(python, "loans.py", cwd=tmp_path, properties="execution.target: in-process") == expected
    assert run(command, "run", "--in-process", "loans.py", cwd=tmp_path) == expected


def test_the_readme_program_runs_on_spark_from_the_wheel(python: Path, tmp_path: Path) -> None:
    program, expected = readme_program()
    (tmp_path / "loans.py").write_text(program, encoding="utf-8")
    assert run(python.parent / "firesteel", "run", "--master", "local[1]", "loans.py", cwd=tmp_path) == expected
