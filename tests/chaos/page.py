"""The section of docs/reliability.md with the figures of the last run."""

from __future__ import annotations

import datetime
import os
from collections import Counter

from bench.page import ROOT, replace_section, table

PAGE = ROOT / "docs" / "reliability.md"
_STEPS = ("before", "within", "after")


def write_page(jobs: int, broken: Counter[str], wrong: int, seconds: float) -> None:
    """Write what was killed and broken, how often, and how many jobs were wrong afterwards."""
    killed = sum(count for kind, count in broken.items() if "killed" in kind)
    today = datetime.date.today().isoformat()
    text = (
        f"{today}, {os.cpu_count()} cores: {jobs} jobs, **{killed} kills** and {broken.total() - killed} other "
        f"faults in {seconds / 60:.0f} minutes; **{wrong} of the jobs wrong**.\n\n"
    )
    replace_section(PAGE, "chaos", text + table(["what was done", "how often"], _grouped(broken).most_common()))


def _grouped(broken: Counter[str]) -> Counter[str]:
    """The steps of a checkpoint as one kind each for kills and failures."""
    grouped: Counter[str] = Counter()
    for kind, count in broken.items():
        action, *rest = kind.split()
        at_step = action in ("killed", "failed") and rest and rest[0] in _STEPS
        grouped[f"driver {action} at a step of a checkpoint" if at_step else kind] += count
    return grouped
