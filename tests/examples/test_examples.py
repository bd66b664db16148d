"""Every example runs as a user would run it, and prints what the comment at its end says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9][0-9]_*.py"))
SOCKET_EXAMPLE = ROOT / "examples" / "10_socket_word_count.py"
IN_PROCESS = "execution.target: in-process"
# Which rows of features.csv an example shows. What its output cannot show is in test_example_rows.py.
ROWS: dict[str, tuple[str, ...]] = {
    "01_adults": ("EX-03",),
    "02_word_count": (),
    "03_taxi_cleansing": ("EX-08",),
    "04_running_sum": (),
    "05_deduplicate": ("EX-14",),
    "06_control_stream": ("EX-16",),
    "07_event_time_timers": (),
    "08_side_outputs": (),
    "09_connect_rides_and_fares": ("EX-32",),
    "10_socket_word_count": ("EX-05",),
    "11_broadcast_rules": (),
    "12_async_lookup": (),
    "13_file_sink": (),
    "14_watch_directory": (),
    "15_types": ("EX-01", "EX-02", "EX-04"),
    "16_text_file": ("EX-06",),
    "17_enriched_rides": ("EX-07", "EX-08", "EX-09"),
    "18_longest_rides": ("EX-11", "EX-12", "EX-13"),
    "19_forget": ("EX-15",),
    "20_sort_by_event_time": ("EX-17",),
    "21_watermarks": ("EX-18",),
    "22_window_functions": ("EX-19", "EX-20"),
    "23_page_views": ("EX-21",),
    "24_sensor_maximum": ("EX-22", "EX-24"),
    "25_late_events": ("EX-25", "EX-26"),
    "26_windows_after_windows": ("EX-27",),
    "27_hourly_tips": ("EX-28", "EX-29", "EX-30", "EX-31"),
    "28_stale_state": ("EX-32",),
    "29_click_sessions": ("EX-33",),
    "30_start_and_end": ("EX-35",),
    "31_folder_to_event_log": ("EX-36",),
    "32_search_index": ("EX-37",),
    "33_conversions_per_hour": ("EX-38",),
    "34_count_window_average": ("EX-39",),
    "35_time_to_live": ("EX-40",),
    "36_buffering_sink": ("EX-45", "EX-46"),
    "37_counter_source": ("EX-45", "EX-47"),
    "38_shapes_and_rules": ("EX-48",),
    "39_checkpoint_settings": ("EX-49",),
    "40_online_model": (),
    "41_auctions": (),
    "42_intrusion_detection": ("CE-05",),
    "43_order_monitoring": ("CE-05",),
    "44_card_fraud": ("CE-05",),
    "45_abandoned_baskets": ("CE-03", "CE-05"),
    "46_rising_prices": ("CE-01",),
    "47_own_operator": (),
    "48_tables": ("SQ-01",),
}
ON_SPARK = "firesteel.master: local[2]\nspark.ui.enabled: false"


def run(script: Path, properties: str, *arguments: str) -> list[str]:
    environment = {**os.environ, "FIRESTEEL_PROPERTIES": properties, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", str(script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def expected_output(script: Path) -> tuple[list[str], bool]:
    """The lines in the comment at the end of an example, and whether their order is promised."""
    _, heading, block = script.read_text(encoding="utf-8").rpartition("\n# Output")
    assert heading, f"{script.name} says nothing about its output"
    first, *lines = block.splitlines()
    return [line.removeprefix("# ") for line in lines], "any order" not in first


def assert_prints_what_it_says(script: Path, printed: list[str]) -> None:
    expected, ordered = expected_output(script)
    assert expected
    if ordered:
        assert printed == expected
    else:
        assert sorted(printed) == sorted(expected)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.feature(row) for row in ROWS.get(path.stem, ())])
        for path in EXAMPLES
        if path != SOCKET_EXAMPLE
    ],
)
def test_an_example_prints_what_it_says(script: Path) -> None:
    assert_prints_what_it_says(script, run(script, IN_PROCESS))


def test_the_table_lists_the_examples() -> None:
    assert list(ROWS) == [path.stem for path in EXAMPLES]


@pytest.mark.parametrize("name", ["01_adults", "36_buffering_sink"])
def test_an_example_prints_the_same_on_spark(name: str) -> None:
    script = ROOT / "examples" / f"{name}.py"
    assert_prints_what_it_says(script, run(script, ON_SPARK))


@pytest.mark.feature(*ROWS[SOCKET_EXAMPLE.stem])
def test_the_socket_example_counts_what_a_server_sends() -> None:
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"to be or\nnot to be\n")

        thread = threading.Thread(target=serve)
        thread.start()
        printed = run(SOCKET_EXAMPLE, IN_PROCESS, "localhost", str(server.getsockname()[1]))
        thread.join()
    assert_prints_what_it_says(SOCKET_EXAMPLE, printed)


def test_the_order_of_one_key_holds() -> None:
    script = ROOT / "examples" / "04_running_sum.py"
    alice = [line for line in run(script, IN_PROCESS) if "alice" in line]
    assert alice == ["('alice', 10)", "('alice', 15)", "('alice', 17)"]
