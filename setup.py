"""What the package says about itself that pyproject.toml cannot say: where its repository is.

A wheel's description is read where the files beside the README are not. Links of the README into the repository become
links to where it is published, if that is known (``FIRESTEEL_REPOSITORY``, or the remote ``origin`` of the checkout),
and plain text otherwise. Nothing else belongs here.
"""

import os
import re
import subprocess
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def repository() -> str | None:
    """The web address of the repository."""
    url = os.environ.get("FIRESTEEL_REPOSITORY", "")
    if not url and (ROOT / ".git").exists():
        remote = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
        url = subprocess.run(remote, capture_output=True, text=True, check=False).stdout.strip()
    return url.removesuffix("/").removesuffix(".git") if url.startswith("https://") else None


def description(url: str | None) -> str:
    """The README without links that only lead somewhere in a checkout."""
    target = r"\1[\2](" + url + r"/blob/main/\3)" if url else r"\2"
    return LINK.sub(target, (ROOT / "README.md").read_text(encoding="utf-8"))


def urls(url: str | None) -> dict[str, str]:
    """The addresses that package indexes show beside the description."""
    if url is None:
        return {}
    pages = {"Documentation": "docs/index.md", "Changes": "CHANGELOG.md"}
    return {"Repository": url, **{name: f"{url}/blob/main/{page}" for name, page in pages.items()}}


setup(
    long_description=description(repository()),
    long_description_content_type="text/markdown",
    project_urls=urls(repository()),
)
