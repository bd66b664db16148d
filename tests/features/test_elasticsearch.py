"""Documents to a cluster, a server on this machine that keeps what it is told: bulk requests, refusals, failures."""

from __future__ import annotations

import base64
import datetime
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.connectors.elasticsearch.bulk import BulkClient
from firesteel.datastream import MapFunction
from firesteel.datastream.connectors import DeliveryGuarantee
from firesteel.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    Elasticsearch8SinkBuilder,
    ElasticsearchEmitter,
    ElasticsearchSink,
    FlushBackoffType,
)
from firesteel.datastream.connectors.opensearch import OpensearchSinkBuilder
from firesteel.errors import ConfigurationError, JobError
from firesteel.testing import InjectedFailure, use_clock
from tests.features.executors import MakeEnv
from tests.features.scripts import checkpoint_each_epoch, recovering

COUNT = 40


class Cluster:
    """Takes bulk requests as Elasticsearch does, and keeps the documents."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], Any] = {}
        self.requests: list[list[Any]] = []
        self.headers: list[Any] = []
        self.paths: list[str] = []
        self.statuses: list[int] = []
        """What to answer the next requests, before it works."""
        self.refuse: Callable[[dict[str, Any]], int | None] = lambda document: None
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body go together

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = cluster.take(self.path, dict(self.headers), body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments: Any) -> None:
                return None

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        self.paths.append(path)
        self.headers.append(headers)
        if self.statuses:
            return self.statuses.pop(0), b'{"error": "not now"}'
        lines = [json.loads(line) for line in body.decode().splitlines()]
        pairs = list(zip(lines[::2], lines[1::2]))
        self.requests.append(pairs)
        items = [{next(iter(action)): self.keep(action, document)} for action, document in pairs]
        failed = any(next(iter(item.values()))["status"] >= 300 for item in items)
        return 200, json.dumps({"errors": failed, "items": items}).encode()

    def keep(self, action: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        ((kind, place),) = action.items()
        document = body["doc"] if kind == "update" else body
        status = self.refuse(document)
        if status is not None:
            return {"status": status, "error": {"type": "refused", "reason": "for a reason"}}
        name = place.get("_id", f"own-{len(self.documents)}")
        self.documents[place["_index"], name] = document
        return {"status": 200}

    def values(self) -> list[int]:
        return sorted(document["value"] for document in self.documents.values())


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def builder(cluster: Cluster, key: str | None = "value") -> Elasticsearch7SinkBuilder:
    emitter = ElasticsearchEmitter.static_index("numbers", key)
    return Elasticsearch7SinkBuilder().set_hosts([cluster.host]).set_emitter(emitter)


def run(env: Any, sink: ElasticsearchSink, count: int = COUNT) -> None:
    env.from_collection([{"value": number} for number in range(count)], Types.PICKLED_BYTE_ARRAY()).sink_to(sink)
    env.execute()


class FailsOnce(MapFunction):
    def __init__(self, mark: Path) -> None:
        self.mark, self.seen = mark, 0

    def map(self, value: Any) -> Any:
        self.seen += 1
        if self.seen == COUNT // 2 and not self.mark.exists():
            self.mark.touch()
            raise InjectedFailure("in the middle")
        return value


@pytest.mark.feature("CN-04", "EO-05")
@pytest.mark.parametrize("key", ["value", None])
def test_after_a_failure_no_document_is_missing_and_with_ids_none_is_double(
    make_env: MakeEnv, tmp_path: Path, cluster: Cluster, key: str | None
) -> None:
    env = recovering(make_env(1, {"firesteel.epoch.max-records": 3}))
    numbers = env.from_collection([{"value": number} for number in range(COUNT)], Types.PICKLED_BYTE_ARRAY())
    numbers.sink_to(builder(cluster, key).set_bulk_flush_max_actions(2).build())
    numbers.map(FailsOnce(tmp_path / "mark")).add_sink(lambda _: None)
    with use_clock(checkpoint_each_epoch()):
        env.execute()
    assert (tmp_path / "mark").exists()
    if key is not None:
        assert cluster.values() == list(range(COUNT))
    else:
        assert Counter(range(COUNT)) <= Counter(cluster.values())
        assert set(cluster.values()) == set(range(COUNT))


@pytest.mark.feature("CN-04")
def test_documents_go_in_requests_of_a_size(make_env: MakeEnv, cluster: Cluster) -> None:
    run(make_env(1), builder(cluster).set_bulk_flush_max_actions(15).build())
    assert [len(request) for request in cluster.requests] == [15, 15, 10]
    assert cluster.requests[0][1] == (
        {"update": {"_index": "numbers", "_id": "1"}},
        {"doc": {"value": 1}, "doc_as_upsert": True},
    )
    cluster.requests.clear()
    sink = builder(cluster).set_bulk_flush_max_actions(-1).set_bulk_flush_max_size_mb(1).build()
    env = make_env(1)
    rows = [{"value": number, "text": "x" * 400_000} for number in range(5)]
    env.from_collection(rows, Types.PICKLED_BYTE_ARRAY()).sink_to(sink)
    env.execute()
    assert [len(request) for request in cluster.requests] == [2, 2, 1]


@pytest.mark.feature("CN-04")
def test_a_field_may_name_the_index_and_rows_are_documents(make_env: MakeEnv, cluster: Cluster) -> None:
    kind = Types.ROW_NAMED(["day", "value"], [Types.SQL_DATE(), Types.INT()])
    emitter = ElasticsearchEmitter.dynamic_index("day")
    env = make_env(1)
    sink = OpensearchSinkBuilder().set_hosts([cluster.host]).set_emitter(emitter).build()
    env.from_collection([Row(day=datetime.date(2024, 5, day), value=day) for day in (1, 2)], kind).sink_to(sink)
    env.execute()
    assert [(index, document["value"]) for (index, _), document in cluster.documents.items()] == [
        ("2024-05-01", 1),
        ("2024-05-02", 2),
    ]
    typed = ElasticsearchEmitter.static_index("old", "value", "_doc")
    run(make_env(1), Elasticsearch6SinkBuilder().set_hosts([cluster.host]).set_emitter(typed).build(), 1)
    assert cluster.requests[-1][0][0] == {"update": {"_index": "old", "_type": "_doc", "_id": "0"}}
    run(make_env(1), Elasticsearch8SinkBuilder().set_hosts([cluster.host]).set_emitter(emitter_of()).build(), 1)
    assert cluster.requests[-1][0][0] == {"index": {"_index": "new"}}


def emitter_of() -> ElasticsearchEmitter:
    return ElasticsearchEmitter.static_index("new")


@pytest.mark.feature("CN-04")
def test_what_the_cluster_has_no_room_for_is_sent_again(
    make_env: MakeEnv, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(BulkClient, "pause", staticmethod(pauses.append))
    busy = Counter({3: 2, 5: 1})

    def refuse(document: dict[str, Any]) -> int | None:
        if busy[document["value"]] > 0:
            busy[document["value"]] -= 1
            return 429
        return None

    cluster.refuse = refuse
    cluster.statuses = [503]
    strategy = (FlushBackoffType.EXPONENTIAL, 5, 100)
    run(make_env(1), builder(cluster).set_bulk_flush_backoff_strategy(*strategy).build(), 10)
    assert cluster.values() == list(range(10))
    assert [len(request) for request in cluster.requests] == [10, 2, 1]
    assert pauses == [0.1, 0.2, 0.4]
    cluster.statuses = [503] * 3
    with pytest.raises(JobError, match=r"127.0.0.1.*: 10 documents were not taken after 2 attempts: status 503"):
        strategy = (FlushBackoffType.CONSTANT, 1, 100)
        run(make_env(1), builder(cluster).set_bulk_flush_backoff_strategy(*strategy).build(), 10)


@pytest.mark.feature("CN-04")
def test_a_document_that_is_refused_fails_the_job_or_is_handed_over(
    make_env: MakeEnv, cluster: Cluster, tmp_path: Path
) -> None:
    cluster.refuse = lambda document: 400 if document["value"] == 3 else None
    with pytest.raises(JobError, match=r'status 400, refused: for a reason: .*"_id": "3"'):
        run(make_env(1), builder(cluster).build(), 5)
    path = tmp_path / "refused"

    def note(document: str, reason: str) -> None:
        path.write_text(f"{document}{reason}")

    run(make_env(1), builder(cluster).set_failure_handler(note).build(), 5)
    assert cluster.values() == [0, 1, 2, 4]
    assert '"doc": {"value": 3}' in path.read_text() and "for a reason" in path.read_text()


@pytest.mark.feature("CN-04")
def test_logins_prefixes_and_hosts_that_are_away(
    make_env: MakeEnv, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BulkClient, "pause", staticmethod(lambda _: None))
    made = builder(cluster).set_connection_username("ada").set_connection_password("lovelace")
    made.set_connection_path_prefix("search/").set_socket_timeout(60_000).set_connection_timeout(1000)
    made.set_hosts(["127.0.0.1:1", cluster.host]).set_connection_request_timeout(1000)
    made.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 2, 10)
    run(make_env(1), made.build(), 3)
    assert cluster.values() == [0, 1, 2]
    assert cluster.paths == ["/search/_bulk"]
    assert cluster.headers[0]["Authorization"] == "Basic " + base64.b64encode(b"ada:lovelace").decode()
    away = (
        builder(cluster).set_hosts(["127.0.0.1:1"]).set_connection_password("lovelace").set_connection_username("ada")
    )
    with pytest.raises(JobError, match=r"127.0.0.1:1: 3 documents were not taken .*ConnectionRefusedError") as failed:
        run(make_env(1), away.build(), 3)
    assert "lovelace" not in str(failed.value)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Elasticsearch7SinkBuilder().build(), "set_hosts"),
        (lambda: Elasticsearch7SinkBuilder().set_hosts(["a:9200"]).build(), "set_emitter"),
        (lambda: Elasticsearch7SinkBuilder().set_hosts("a:9200"), "list of hosts"),  # type: ignore[arg-type]
        (lambda: Elasticsearch7SinkBuilder().set_hosts(["ftp://a"]), "https://search"),
        (lambda: Elasticsearch7SinkBuilder().set_hosts(["http://ada:pw@a"]), "set_connection_username"),
        (lambda: Elasticsearch7SinkBuilder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "no exactly-once"),
        (lambda: Elasticsearch7SinkBuilder().set_bulk_flush_max_actions(0), "above 0, or -1"),
        (lambda: Elasticsearch7SinkBuilder().set_emitter("a"), "static_index"),  # type: ignore[arg-type]
        (
            lambda: Elasticsearch6SinkBuilder().set_hosts(["a"]).set_emitter(emitter_of()).build(),
            "needs the doc_type",
        ),
        (
            lambda: (
                Elasticsearch7SinkBuilder()
                .set_hosts(["a"])
                .set_emitter(ElasticsearchEmitter.static_index("a", None, "t"))
                .build()
            ),
            "Elasticsearch6SinkBuilder",
        ),
        (lambda: ElasticsearchEmitter.static_index(""), "name of an index"),
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()


def test_a_record_that_is_no_document_is_named(make_env: MakeEnv, cluster: Cluster) -> None:
    env = make_env(1)
    env.from_collection([5], Types.INT()).sink_to(builder(cluster).build())
    with pytest.raises(JobError, match="a document is a dict or a Row with names, got 5"):
        env.execute()
