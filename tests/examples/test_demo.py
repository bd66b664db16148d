"""The demo runs to its end, and its check notices wrong results."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from firesteel.connectors.taxi import TaxiFareSource, TaxiRideSource

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo.py"
COUNT = 3000


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def events() -> tuple[list[Any], list[Any]]:
    fares, _ = TaxiFareSource(count=COUNT).create_generator().generate(range(COUNT))
    rides, _ = TaxiRideSource(count=COUNT).create_generator().generate(range(COUNT))
    return fares, rides


def right_results(demo: ModuleType, fares: list[Any], rides: list[Any]) -> dict[str, list[Any]]:
    tips: dict[tuple[int, int], int] = {}
    for fare in fares:
        place = (demo.end_of_hour(fare.start_time), fare.driver_id)
        tips[place] = tips.get(place, 0) + demo.cents(fare)
    ends = sorted(map(demo.cell_and_minutes, filter(demo.is_end_in_city, rides)), key=lambda ride: ride[1])
    return {"tips": [(*place, total) for place, total in tips.items()], "late": [], "longest": ends}


def test_the_check_agrees_with_right_results(demo: ModuleType, events: tuple[list[Any], list[Any]]) -> None:
    assert demo.check(right_results(demo, *events), *events) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda results, fares: results["tips"].pop(), "not what was paid"),
        (lambda results, fares: results["tips"].append(results["tips"][0]), "came out twice"),
        (lambda results, fares: results["late"].append(fares[0]), "came in time"),
        (lambda results, fares: results["longest"].append((1, 99.0)), "longest rides differ"),
    ],
)
def test_the_check_notices_wrong_results(
    demo: ModuleType,
    events: tuple[list[Any], list[Any]],
    change: Callable[[dict[str, list[Any]], list[Any]], object],
    problem: str,
) -> None:
    results = right_results(demo, *events)
    change(results, events[0])
    assert any(problem in found for found in demo.check(results, *events))


def run_demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FIRESTEEL_PROPERTIES": "execution.target: in-process", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(DEMO), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all results agree" in done.stdout
    assert "From an event to its result here: median" in done.stdout
    return done


def test_the_demo_runs_shows_progress_and_agrees_with_plain_loops() -> None:
    done = run_demo("--fares", "20000", "--seconds", "1")
    assert "records/s" in done.stderr and "watermark" in done.stderr and "epoch time" in done.stderr


def test_with_direct_exchange_the_demo_shows_the_live_lag() -> None:
    done = run_demo("--direct", "--fares", "3000", "--seconds", "1.3")
    assert "  lag median" in done.stdout
