"""Where something is measured: the machine and the versions, for every report."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyspark

import firesteel


def machine() -> dict[str, Any]:
    """Where this is measured."""
    model = [line for line in _cpu_lines() if line.startswith("model name")]
    return {
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": model[0].partition(":")[2].strip() if model else platform.processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "pyspark": pyspark.__version__,
        "firesteel": firesteel.__version__,
    }


def sentence(of: Mapping[str, Any]) -> str:
    """The same for people: what stands above a table of figures."""
    return (
        f"Measured on {of['time'][:10]} with Firesteel {of['firesteel']}, PySpark {of['pyspark']} and Python "
        f"{of['python']} on {of['cores']} cores of {of['cpu']}; load of the machine at the start: {of['load']}."
    )


def _cpu_lines() -> list[str]:
    info = Path("/proc/cpuinfo")
    return info.read_text(encoding="utf-8").splitlines() if info.exists() else []
