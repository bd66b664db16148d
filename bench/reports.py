"""Reports as JSON: of every run under bench/results, and under bench/history those whose figures are on the page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.page import ROOT

RESULTS = ROOT / "bench" / "results"
"""What was measured on this machine; not in the repository."""
HISTORY = ROOT / "bench" / "history"
"""What the page was written from; in the repository, so that readers can check it and see what changed."""


def save(report: Mapping[str, Any], name: str = "", folder: Path = RESULTS) -> Path:
    """Write a report to a file named after the time when its measurement began.

    :param name: What was measured, if not what ``python -m bench`` measures.
    """
    began = datetime.fromisoformat(report["machine"]["time"])
    path = folder / f"{name}{'-' if name else ''}{began:%Y%m%d-%H%M%S}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    here = Path.cwd()
    print(f"written to {path.relative_to(here) if path.is_relative_to(here) else path}")
    return path
