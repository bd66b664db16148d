"""The dashboard of a running job in a real browser: every page opens, nothing is complained about, figures move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.rest import server
from tests.services.chromium import chromium, opened

TABS = {
    "": "Records from sources",
    "/checkpoints": "Interval",
    "/exceptions": "Nothing has failed.",
    "/watermarks": "Why has this window not fired?",
    "/configuration": "State backend",
    "/cancel": "Cancel this job?",
    "/savepoint": "Directory",
    "/checkpoint": "Take a checkpoint now?",
}


@pytest.fixture(scope="module")
def browser() -> str:
    return chromium()


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Where the pages are, and the id of the job."""
    started: dict[Any, Any] = {}
    settings = {
        "execution.target": "in-process",
        "rest.port": "0",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": str(tmp_path_factory.mktemp("checkpoints")),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "_servers", started)
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        env.from_data_generator(lambda n: n, count=None).key_by(lambda n: n % 3).reduce(max).add_sink(lambda _: None)
        client = env.execute_async("watched")
        (running,) = started.values()
        yield f"{running.url}ui", str(client.get_job_id())
        client.cancel().result(60)
        running.stop()


@pytest.mark.feature("OP-01")
@pytest.mark.parametrize(("tab", "width"), [*((tab, 1300) for tab in TABS), ("", 400)])
def test_a_page_opens_without_a_complaint(browser: str, job: tuple[str, str], tab: str, width: int) -> None:
    page = opened(browser, f"{job[0]}/jobs/{job[1]}{tab}", width)
    assert TABS[tab] in page.dom and page.complaints == []


def test_figures_are_asked_for_again_by_themselves(
    browser: str, job: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (running,) = server._servers.values()
    view, asked = running.registry.view, []
    monkeypatch.setattr(running.registry, "view", lambda job_id: (asked.append(job_id), view(job_id))[1])
    page = opened(browser, f"{job[0]}/jobs/{job[1]}", milliseconds=7000)
    assert page.complaints == []
    assert len(asked) >= 2, "one visit of seven seconds"
    assert page.dom.count('id="main"') == 1 and 'hx-trigger="every 2s"' in page.dom


def test_the_list_and_the_log(browser: str, job: tuple[str, str]) -> None:
    assert "watched" in opened(browser, f"{job[0]}/").dom
    assert "What the driver has logged lately" in opened(browser, f"{job[0]}/log").dom
