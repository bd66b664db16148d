"""The dashboard's pages over jobs that are played: what they show, what their buttons do, and that text stays text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from starlette.testclient import TestClient

from firesteel.common.time import MAX_WATERMARK, MIN_WATERMARK
from firesteel.dashboard.charts import line
from firesteel.dashboard.text import Html, amount, el, event_time, lasting, size
from firesteel.dashboard.watermarks import explain, held_back
from firesteel.events import (
    CheckpointCompleted,
    CheckpointFailed,
    CheckpointTriggered,
    EpochEnded,
    ExceptionRaised,
    JobDescribed,
    JobHistory,
    JobView,
    OperatorDescription,
    OperatorNumbers,
    StatusChanged,
    SubtaskNumbers,
    VertexDescription,
    VertexInput,
)
from firesteel.rest import JobRegistry, create_app
from firesteel.rest.driver_log import DriverLog
from tests.unit.rest.test_steering import ID, PlayedJob

T = 1_700_000_000_000
EVIL = "<script>alert(1)</script>"
VOID = {"meta", "link", "input", "rect", "path", "polyline", "polygon"}


def epoch(at: int, first: int, second: int, window: int, read: int = 100) -> EpochEnded:
    """Numbers of a source with two subtasks and a window behind it, by their watermarks."""

    def source(index: int, mark: int) -> SubtaskNumbers:
        operators = (
            OperatorNumbers("read", 0, read, MIN_WATERMARK, MIN_WATERMARK),
            OperatorNumbers("mark", read, 5, mark, mark),
        )
        return SubtaskNumbers("1" * 32, index, "h", 7, at - T, 0, 0, 0.9, operators=operators)

    behind = SubtaskNumbers(
        "2" * 32, 0, "h", 7, 0, 0, at - T, 0.1, operators=(OperatorNumbers("w", 5, 0, window, window, 3),)
    )
    return EpochEnded(
        at, 4, records=10, seconds=0.5, newest=T + 9000, subtasks=(source(0, first), source(1, second), behind)
    )


@pytest.fixture
def job() -> PlayedJob:
    played = PlayedJob()
    source = VertexDescription(
        "1" * 32, f"rides {EVIL}", 0, 2, 128, (OperatorDescription("3" * 32, "read", "rides", source=True),)
    )
    window = VertexDescription(
        "2" * 32,
        "per hour",
        1,
        1,
        128,
        (OperatorDescription("2" * 32, "w", "per hour"),),
        (VertexInput("1" * 32, "HASH"),),
    )
    described = JobDescribed(
        T,
        job_id=ID,
        name=f"loans {EVIL}",
        vertices=(source, window),
        configuration={"a": EVIL},
        checkpoint_interval=2000,
    )
    played.history = JobHistory(
        [
            described,
            StatusChanged(T + 5, "RUNNING"),
            epoch(T + 1000, T + 1000, T + 1000, T + 1000, 100),
            epoch(T + 3000, T + 5000, T + 2000, T + 2000, 300),
            epoch(T + 5000, T + 8000, T + 2000, T + 2000, 500),
            CheckpointCompleted(T + 3100, 1, path="/c/chk-1", duration_ms=12, state_bytes=4096, full=True),
            CheckpointFailed(T + 4100, 2, reason="no room"),
            CheckpointTriggered(T + 5100, 3),
            ExceptionRaised(
                T + 4500, "ValueError", f"bad {EVIL}", "Traceback: line 7", operator="per hour", record=EVIL
            ),
        ]
    )
    return played


@pytest.fixture
def log() -> DriverLog:
    return DriverLog()


@pytest.fixture
def client(job: PlayedJob, log: DriverLog) -> TestClient:
    registry = JobRegistry(clock=lambda: T + 6000)
    registry.add(job)
    return TestClient(create_app(registry, log=log), base_url="http://localhost")


class Balanced(HTMLParser):
    """Finds elements that are not closed, and whatever could run or load anything."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = dict(attributes)
        assert not [name for name in names if name.startswith("on") or name == "style"], (tag, names)
        assert tag != "script" or (names["src"] or "").startswith("/ui/static/")
        for name in ("href", "src", "action", "hx-get"):
            assert (names.get(name) or "/").startswith(("/", "#")), names[name]
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(client: TestClient, path: str, status: int = 200) -> str:
    """The text of a page that is well formed, lets nothing in and has a policy against it."""
    answer = client.get(path)
    assert answer.status_code == status
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    parser = Balanced()
    parser.feed(answer.text)
    assert parser.open == []
    return " ".join(parser.text)


JOB = f"/ui/jobs/{ID}"


@pytest.mark.feature("OP-01")
def test_jobs_are_listed(client: TestClient) -> None:
    text = read(client, "/ui/")
    assert f"loans {EVIL}" in text and "RUNNING" in text and "1, 1 failed" in text
    assert client.get("/", follow_redirects=False).headers["location"] == "/ui/"
    empty = TestClient(create_app(JobRegistry()), base_url="http://localhost")
    assert "There are no jobs yet." in read(empty, "/ui/")


@pytest.mark.feature("OP-01")
def test_the_overview_has_graph_rates_and_event_time(client: TestClient) -> None:
    text = read(client, JOB)
    assert "reads 200/s" in text, "two subtasks, 400 records each in four seconds"
    assert "busy 100%" in text and "back pressure 100%" in text and "HASH" in text
    assert "2023-11-14 22:13:22" in text and "7.0 s behind" in text
    assert "Newest failure" in text
    answer = client.get(JOB).text
    assert 'class="heat-4"' in answer and "pressed" in answer and 'hx-trigger="every 2s"' in answer


def test_a_job_that_has_ended_is_not_asked_again_and_again(client: TestClient, job: PlayedJob) -> None:
    job.history.apply(StatusChanged(T + 6000, "FINISHED"))
    assert "hx-trigger" not in client.get(JOB).text
    assert "Cancel" not in read(client, JOB)


@pytest.mark.parametrize(
    ("tab", "shown"),
    [
        ("/checkpoints", ["4.0 KiB", "/c/chk-1", "no room", "IN_PROGRESS", "checkpoint, full"]),
        ("/exceptions", ["ValueError: bad", "Traceback: line 7", "operator 'per hour'", "The job was restarted."]),
        ("/watermarks", ["Subtask 1 of 'rides", "with_idleness()", "2023-11-14 22:13:28"]),
        ("/configuration", [EVIL, "Job id"]),
    ],
)
def test_the_other_pages(client: TestClient, tab: str, shown: list[str]) -> None:
    text = read(client, JOB + tab)
    assert [each for each in shown if each not in text] == []


def test_the_log(client: TestClient, log: DriverLog) -> None:
    assert "Nothing yet." in read(client, "/ui/log")
    readers = TestClient(create_app(JobRegistry()), base_url="http://localhost")
    assert "no driver's" in read(readers, "/ui/log")


@pytest.mark.parametrize(
    "path", ["/ui/jobs/nobody", f"{JOB}/nonsense", "/ui/static/nothing.js", "/ui/static/..%2Fpages.py"]
)
def test_what_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_files_are_served(client: TestClient) -> None:
    for name, kind in {"style.css": "text/css", "htmx.min.js": "text/javascript", "icon.svg": "image/svg+xml"}.items():
        assert client.get(f"/ui/static/{name}").headers["content-type"].startswith(kind)


# ---- buttons --------------------------------------------------------------------------------------------------------


@pytest.mark.feature("OP-02")
@pytest.mark.parametrize(
    ("what", "form", "told"),
    [
        ("cancel", {}, "cancel"),
        ("checkpoint", {}, ("checkpoint", False)),
        ("savepoint", {"directory": "/s"}, ("savepoint", "/s")),
    ],
)
def test_what_is_done_is_asked_first(client: TestClient, job: PlayedJob, what: str, form: Any, told: Any) -> None:
    assert "?" in read(client, f"{JOB}/{what}") and job.told == [], "a question changes nothing"
    answer = client.post(f"{JOB}/{what}", data=form, follow_redirects=False)
    assert answer.status_code == 303 and job.told == [told]


def test_what_cannot_be_done_is_said(client: TestClient, job: PlayedJob) -> None:
    answer = client.post(f"{JOB}/savepoint", data={})
    assert answer.status_code == 409 and "a savepoint needs a directory" in answer.text
    job.history.apply(StatusChanged(T + 6000, "FINISHED"))
    assert client.post(f"{JOB}/cancel").status_code == 409
    assert client.post(f"{JOB}/nonsense").status_code == 404


def test_pages_of_strangers_press_no_buttons(client: TestClient, job: PlayedJob) -> None:
    assert client.post(f"{JOB}/cancel", headers={"Origin": "http://evil.example"}).status_code == 403
    assert job.told == []


# ---- watermarks -----------------------------------------------------------------------------------------------------


def test_who_holds_event_time_back_and_since_when(job: PlayedJob) -> None:
    source, window = held_back(JobView(job.history, T + 6000))
    assert source.culprit is None and source.watermark == T + 2000
    assert window.culprit is not None
    assert (window.culprit[1], window.leading, window.since) == (1, T + 8000, T + 3000)
    assert "It has not moved for 3.0 s" in explain(window, T + 6000)


@pytest.mark.parametrize(
    ("mark", "told"), [(MIN_WATERMARK, "No watermark has come"), (MAX_WATERMARK, "every window has fired")]
)
def test_the_ends_of_event_time(job: PlayedJob, mark: int, told: str) -> None:
    job.history.apply(epoch(T + 7000, mark, mark, mark))
    assert all(told in explain(each, T + 8000) for each in held_back(JobView(job.history, T + 8000)))


# ---- text -----------------------------------------------------------------------------------------------------------


def test_text_is_escaped_once() -> None:
    assert el("p", EVIL, Html("<b>x</b>"), title='"') == (
        '<p title="&quot;">&lt;script&gt;alert(1)&lt;/script&gt;<b>x</b></p>'
    )
    assert el("a", "x", class_="y", aria_current=None, hx_get="/z") == '<a class="y" hx-get="/z">x</a>'


def test_numbers_are_short() -> None:
    assert [amount(each) for each in (0, 7, 0.25, 999, 1500, 2_345_678, 5e9)] == [
        "0",
        "7",
        "0.25",
        "999",
        "1.5k",
        "2.35M",
        "5G",
    ]
    assert [size(each) for each in (5, 2048, 5 << 30)] == ["5 B", "2.0 KiB", "5.0 GiB"]
    assert [lasting(each) for each in (5, 1500, 61_000, 90_061_000)] == ["5 ms", "1.5 s", "1 min 1 s", "1 d 1 h"]
    assert [event_time(each) for each in (MIN_WATERMARK, MAX_WATERMARK, 1 << 61)] == [
        *("no watermark yet", "the end of time"),
        str(1 << 61),
    ]


def test_a_chart_needs_two_values() -> None:
    assert "no numbers yet" in line("x", [], str) and "<svg" not in line("x", [1.0], str)
    points = re.findall(r'points="([^"]+)"', line("x", [0.0, 2.0, 1.0], str))
    assert points[1] == "0.0,70.0 160.0,4.0 320.0,37.0"
