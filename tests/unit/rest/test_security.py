"""Who may use the REST API."""

from __future__ import annotations

import base64

import pytest
from starlette.testclient import TestClient

from firesteel.rest import Access, JobRegistry, create_app

GONE = "/jobs/" + "0" * 32


def client(access: Access | None = None, host: str = "localhost:8081") -> TestClient:
    return TestClient(create_app(JobRegistry(), access), base_url=f"http://{host}")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8081", "[::1]:8081", "10.0.0.7"])
def test_the_machine_itself_may_ask(host: str) -> None:
    assert client(host=host).get("/config").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8081", "127.0.0.1.evil.example", ""])
def test_a_foreign_name_is_refused(host: str) -> None:
    answer = client().get("/config", headers={"Host": host})
    assert answer.status_code == 403
    assert "firesteel.rest.allowed-hosts" in answer.json()["errors"][0]


def test_names_can_be_allowed() -> None:
    access = Access.of("127.0.0.1", None, ["Jobs.Example"])
    assert client(access, "jobs.example").get("/config").status_code == 200


def test_a_server_for_others_knows_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "worker-3")
    monkeypatch.setattr("socket.getfqdn", lambda: "worker-3.example")
    assert Access.of("0.0.0.0", "t", ()).hosts == {"worker-3", "worker-3.example", "0.0.0.0"}
    assert Access.of("127.0.0.1", None, ()).hosts == set()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_others_change_nothing(headers: dict[str, str]) -> None:
    assert client().patch(GONE, headers=headers).status_code == 403
    assert client().post(f"{GONE}/stop", headers=headers, json={}).status_code == 403
    assert client().get("/jobs", headers=headers).status_code == 200, "they cannot read the answer"


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://localhost:8081", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]
)
def test_own_pages_and_programs_may_change_things(headers: dict[str, str]) -> None:
    assert client().patch(GONE, headers=headers).status_code == 404, "there is no such job, but one may ask"


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("shown", ["Bearer s3same", "bearer s3same", basic("anyone:s3same")])
def test_the_token_opens(shown: str) -> None:
    assert client(Access("s3same")).get("/v1/jobs", headers={"Authorization": shown}).status_code == 200


@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer s3sam", "Bearer s3same2", "Digest s3same", basic("s3same:"), "Basic %%%", "s3same"]
)
def test_anything_else_does_not(shown: str) -> None:
    answer = client(Access("s3same")).get("/v1/jobs", headers={"Authorization": shown} if shown else {})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic")
    assert "s3same" not in answer.text
