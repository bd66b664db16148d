"""Reporters of metrics: what they send, decoded by whoever listens; and what of a job they get."""

from __future__ import annotations

import json
import logging
import re
import socket
import struct
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata, resources
from typing import Any

import pytest
import yaml

from firesteel.common import Configuration
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.errors import ConfigurationError
from firesteel.events import (
    CheckpointCompleted,
    EpochEnded,
    JobDescribed,
    JobEnded,
    JobHistory,
    JobView,
    OperatorDescription,
    OperatorNumbers,
    StatusChanged,
    SubtaskNumbers,
    VertexDescription,
)
from firesteel.metrics import DistributionValue, MeterValue, MetricSnapshot
from firesteel.reporters import (
    MetricReporter,
    MetricReporting,
    ReportedMetric,
    ReporterSettings,
    Scopes,
    make_reporter,
    reported_metrics,
)
from firesteel.reporters.factories import ENTRY_POINTS
from firesteel.reporters.prometheus import exposition

NOW = 1_700_000_070_000
VERTEX = "c" * 32
OPERATOR = "d" * 32


def numbers(seen: int) -> SubtaskNumbers:
    user = MetricSnapshot(
        {"rides.seen": seen},
        {"marks": MeterValue(seen, 60)},
        {"sizes": DistributionValue(2, 5, 1, 4)},
        {"temperature": -3.5, "mood": "good"},
    )
    operator = OperatorNumbers("check", seen, seen, 5, 5, 7, user)
    return SubtaskNumbers(VERTEX, 0, "host-1", 9, 40_000, 0, 20_000, 0.5, 100, 200, (operator,))


@pytest.fixture
def history() -> JobHistory:
    operator = OperatorDescription(OPERATOR, "check", "check, it", source=False)
    vertex = VertexDescription(VERTEX, "check, it -> Sink", 0, 1, 128, (operator,))
    return JobHistory(
        [
            JobDescribed(NOW - 70_000, job_id="a" * 32, name="loans", host="driver-1", vertices=(vertex,)),
            StatusChanged(NOW - 60_000, "RUNNING"),
            EpochEnded(NOW - 30_000, subtasks=(numbers(10),)),
            CheckpointCompleted(NOW - 20_000, 3, path="/c/chk-3", duration_ms=5, state_bytes=6),
            EpochEnded(NOW - 10_000, subtasks=(numbers(50),)),
        ]
    )


@pytest.fixture
def metrics(history: JobHistory) -> list[ReportedMetric]:
    return reported_metrics(JobView(history, NOW), Scopes())


def made(kind: str, **settings: Any) -> Any:
    values = {"factory.class": kind, **{key.replace("__", "."): str(value) for key, value in settings.items()}}
    return make_reporter(ReporterSettings("mine", values))


def found(metrics: Sequence[ReportedMetric], name: str, scope: str = "taskmanager.job.task.operator") -> ReportedMetric:
    (one,) = [each for each in metrics if (each.name, each.scope) == (name, scope)]
    return one


# ---- what is reported -----------------------------------------------------------------------------------------------


@pytest.mark.feature("OP-06", "OP-07")
def test_metrics_have_flinks_names_scopes_and_variables(metrics: list[ReportedMetric]) -> None:
    job = found(metrics, "lastCheckpointSize", "jobmanager.job")
    assert (job.identifier, job.value, job.kind) == ("driver-1.jobmanager.loans.lastCheckpointSize", 6, "gauge")
    assert set(job.variables) == {"host", "job_id", "job_name"}
    task = found(metrics, "numRecordsIn", "taskmanager.job.task")
    assert (task.kind, task.value) == ("counter", 50)
    assert task.identifier == "host-1.taskmanager.host-1-9.loans.check, it -> Sink.0.numRecordsIn"
    assert set(task.variables) == {
        *("job_id", "job_name", "host", "tm_id", "task_id", "task_name"),
        *("task_attempt_id", "task_attempt_num", "subtask_index"),
    }
    seen = found(metrics, "rides.seen")
    assert (seen.kind, seen.value, seen.variables["operator_name"]) == ("counter", 50, "check, it")
    assert set(seen.variables) - set(task.variables) == {"operator_id", "operator_name"}
    marks = found(metrics, "marks")
    assert (marks.kind, marks.value, marks.count) == ("meter", 2.0, 50)
    assert found(metrics, "numRecordsInPerSecond").kind == "meter"
    assert found(metrics, "sizes").value == DistributionValue(2, 5, 1, 4)


def test_scopes_are_those_of_the_settings(history: JobHistory) -> None:
    scopes = Scopes(operator="<job_name>.<operator_name>.<nonsense>", delimiter="-")
    metric = found(reported_metrics(JobView(history, NOW), scopes), "rides.seen")
    assert metric.identifier == "loans-check, it-<nonsense>-rides-seen"


def test_what_has_no_number_is_left_out() -> None:
    def metric(value: Any) -> ReportedMetric:
        return ReportedMetric("s", "n", "i", {}, "gauge", value)

    assert list(metric(True).numbers()) == [("", 1)]
    assert list(metric(DistributionValue()).numbers()) == [("count", 0)]
    assert [list(metric(each).numbers()) for each in (float("nan"), float("inf"), "x", None)] == [[], [], [], []]


# ---- listeners ------------------------------------------------------------------------------------------------------


class Listener:
    """Takes what is sent over HTTP."""

    def __init__(self) -> None:
        self.got: list[tuple[str, str, dict[str, str], bytes]] = []
        self.status = 200
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                listener.got.append((self.command, self.path, dict(self.headers), body))
                self.send_response(listener.status)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"told")

            do_POST = do_PUT = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def http() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


@pytest.fixture
def udp() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        listening.bind(("127.0.0.1", 0))
        yield listening


def received(listening: socket.socket) -> list[bytes]:
    """What has come: on the loopback it is there when it has been sent."""
    listening.setblocking(False)
    packets = []
    try:
        while True:
            packets.append(listening.recv(65536))
    except BlockingIOError:
        return packets


# ---- Prometheus -----------------------------------------------------------------------------------------------------

SAMPLE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\} (\S+)')


def parsed(text: str) -> dict[tuple[str, str], float]:
    """Names and the subtask's index -> values."""
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2]))
            samples[match[1], labels.get("subtask_index", "")] = float(match[3])
    return samples


@pytest.mark.feature("OP-11")
def test_prometheus_scrapes(metrics: list[ReportedMetric]) -> None:
    first, second = made("prometheus", port=0), made("prometheus", port=0)
    first.report(metrics, NOW)
    with urllib.request.urlopen(first.url, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        samples = parsed(answer.read().decode())
    assert samples["flink_taskmanager_job_task_operator_rides_seen", "0"] == 50
    assert samples["flink_jobmanager_job_numberOfCompletedCheckpoints", ""] == 1
    assert samples["flink_taskmanager_job_task_operator_sizes_sum", "0"] == 5
    assert first.url == second.url, "jobs of a process that ask for the same port share the server"
    first.close()
    with urllib.request.urlopen(second.url, timeout=30) as answer:
        assert answer.read() == b""
    second.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(second.url, timeout=30)


def test_prometheus_has_each_family_once_and_clean_labels(metrics: list[ReportedMetric]) -> None:
    text = exposition(metrics)
    families = re.findall(r"# TYPE (\w+) (\w+)", text)
    assert (
        len(families) == len(dict(families))
        and dict(families)["flink_taskmanager_job_task_operator_sizes"] == "summary"
    )
    assert 'operator_name="check__it"' in text and "lastCheckpointExternalPath" not in text
    assert 'operator_name="check, it"' in exposition(metrics, filter_values=False)


def test_a_port_for_prometheus_that_is_taken_is_named() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(ConfigurationError, match=r"cannot listen on 127\.0\.0\.1"),
    ):
        made("prometheus", port=taken.getsockname()[1])
    with pytest.raises(ConfigurationError, match="a port or a range"):
        made("prometheus", port="many")


@pytest.mark.feature("OP-11")
def test_the_push_gateway_gets_metrics_and_loses_them_at_the_end(http: Listener, metrics: list[ReportedMetric]) -> None:
    reporter = made(
        "prometheus-push", hostUrl=http.url, jobName="my job", randomJobNameSuffix=False, groupingKey="a=1;b=x/y"
    )
    reporter.report(metrics, NOW)
    reporter.close()
    (put, path, _, body), (delete, same, _, _) = http.got
    assert (put, path, delete) == ("PUT", "/metrics/job/my%20job/a/1/b/x%2Fy", "DELETE") and same == path
    assert parsed(body.decode())["flink_taskmanager_job_task_operator_rides_seen", "0"] == 50
    with pytest.raises(ConfigurationError, match="jobName"):
        made("prometheus-push", hostUrl=http.url, randomJobNameSuffix=False)


# ---- lines ----------------------------------------------------------------------------------------------------------


@pytest.mark.feature("OP-12")
def test_statsd_gets_counters_gauges_and_nothing_twice(udp: socket.socket, metrics: list[ReportedMetric]) -> None:
    reporter = made("statsd", host="127.0.0.1", port=udp.getsockname()[1])
    seen = found(metrics, "rides.seen")
    some = [seen, found(metrics, "temperature"), found(metrics, "sizes"), found(metrics, "mood")]
    reporter.report(some, NOW)
    lines = b"\n".join(received(udp)).decode().splitlines()
    prefix = "host-1.taskmanager.host-1-9.loans.check, it.0"
    assert f"{prefix}.rides.seen:50|c" in lines and f"{prefix}.sizes.max:4|g" in lines
    assert lines.index(f"{prefix}.temperature:0|g") + 1 == lines.index(f"{prefix}.temperature:-3.5|g")
    assert not any("mood" in line for line in lines)
    reporter.report([ReportedMetric(**{**vars(seen), "value": 54})], NOW)
    reporter.report([ReportedMetric(**{**vars(seen), "value": 3})], NOW)
    assert [each.rpartition(b":")[2] for each in received(udp)] == [b"4|c", b"3|c"], "after a restart it counts anew"


def test_statsd_packets_fit_into_a_network(udp: socket.socket, metrics: list[ReportedMetric]) -> None:
    made("statsd", host="127.0.0.1", port=udp.getsockname()[1]).report(metrics, NOW)
    packets = received(udp)
    assert 1 < len(packets) < len(metrics) and max(map(len, packets)) <= 1400


@pytest.mark.feature("OP-10")
def test_graphite_gets_lines(metrics: list[ReportedMetric]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made("graphite", host="127.0.0.1", port=listening.getsockname()[1]).report(metrics, NOW)
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as file:
            lines = file.read().decode().splitlines()
    assert "host-1.taskmanager.host-1-9.loans.check,_it.0.rides.seen 50 1700000070" in lines
    assert all(len(line.split(" ")) == 3 for line in lines)


def test_graphite_over_udp(udp: socket.socket, metrics: list[ReportedMetric]) -> None:
    made("graphite", host="127.0.0.1", port=udp.getsockname()[1], protocol="udp").report(metrics[:1], NOW)
    assert received(udp)[0].endswith(b" 1700000070\n")
    with pytest.raises(ConfigurationError, match="TCP or UDP"):
        made("graphite", protocol="SCTP")


def test_influxdb_gets_points(http: Listener, metrics: list[ReportedMetric]) -> None:
    place = {"host": "127.0.0.1", "port": http.port, "db": "d b", "username": "u", "password": "p"}
    made("influxdb", retentionPolicy="week", **place).report(metrics, NOW)
    ((_, path, headers, body),) = http.got
    assert path == "/write?db=d+b&precision=ms&rp=week" and headers["Authorization"] == "Basic dTpw"
    lines = {line.partition(",")[0]: line for line in body.decode().splitlines()}
    seen = lines["taskmanager_job_task_operator_rides_seen"]
    assert r",operator_name=check\,\ it," in seen and seen.endswith(f" count=50i {NOW}")
    assert lines["taskmanager_job_task_operator_marks"].endswith(f" rate=2.0,count=50.0 {NOW}")
    assert lines["taskmanager_job_task_operator_mood"].endswith(f' value="good" {NOW}')
    assert " count=2i,min=1i,max=4i,mean=2.5 " in lines["taskmanager_job_task_operator_sizes"]
    http.status = 401
    with pytest.raises(OSError, match="answers 401: told"):
        made("influxdb", **place).report(metrics, NOW)


@pytest.mark.feature("OP-14")
def test_the_log_gets_lines(metrics: list[ReportedMetric], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="firesteel.metrics"):
        made("log").report(metrics, NOW)
    assert "counter host-1.taskmanager.host-1-9.loans.check, it.0.rides.seen: 50" in caplog.messages
    assert "gauge host-1.taskmanager.host-1-9.loans.check, it.0.mood: good" in caplog.messages


# ---- structured -----------------------------------------------------------------------------------------------------


@pytest.mark.feature("OP-13")
def test_datadog_gets_series(http: Listener, metrics: list[ReportedMetric]) -> None:
    reporter = made("datadog", apikey="k", url=http.url, tags="team:a, env:b", maxMetricsPerRequest=10)
    reporter.report(metrics, NOW)
    assert len(http.got) > 2
    assert {(path, headers["Dd-Api-Key"]) for _, path, headers, _ in http.got} == {("/api/v1/series", "k")}
    series = [each for *_, body in http.got for each in json.loads(body)["series"]]
    (seen,) = [each for each in series if each["metric"].endswith("rides.seen")]
    assert (seen["type"], seen["points"], seen["host"]) == ("count", [[1700000070, 50]], "host-1")
    assert {"team:a", "env:b", "job_name:loans", "subtask_index:0"} <= set(seen["tags"])
    reporter.report([found(metrics, "rides.seen")], NOW + 10_000)
    assert json.loads(http.got[-1][3])["series"][0]["points"] == [[1700000080, 0]], "what came since"
    with pytest.raises(ConfigurationError, match="dataCenter"):
        made("datadog", apikey="k", dataCenter="MARS")
    with pytest.raises(ConfigurationError, match="apikey is not set"):
        made("datadog")


def test_a_collector_gets_otlp(http: Listener, metrics: list[ReportedMetric]) -> None:
    reporter = made("otlp", exporter__endpoint=http.url, service__name="s")
    reporter.report(metrics, NOW)
    ((_, path, headers, body),) = http.got
    assert (path, headers["Content-Type"]) == ("/v1/metrics", "application/json")
    (resource,) = json.loads(body)["resourceMetrics"]
    assert {"key": "service.name", "value": {"stringValue": "s"}} in resource["resource"]["attributes"]
    (scope,) = resource["scopeMetrics"]
    by_name = {each["name"]: each for each in scope["metrics"]}
    seen = by_name["flink.taskmanager.job.task.operator.rides.seen"]["sum"]
    assert (seen["aggregationTemporality"], seen["dataPoints"][0]["asInt"]) == (2, "50")
    assert seen["dataPoints"][0]["timeUnixNano"] == "1700000070000000000"
    assert by_name["flink.taskmanager.job.task.operator.temperature"]["gauge"]["dataPoints"][0]["asDouble"] == -3.5
    sizes = by_name["flink.taskmanager.job.task.operator.sizes"]["summary"]["dataPoints"][0]
    assert (sizes["count"], sizes["sum"], sizes["quantileValues"][1]) == ("2", 5.0, {"quantile": 1.0, "value": 4})
    with pytest.raises(ConfigurationError, match="has to be HTTP"):
        made("otlp", exporter__endpoint=http.url, exporter__protocol="gRPC")


def xdr(packet: bytes, kinds: str) -> list[Any]:
    """Numbers and texts of a packet, by a letter each."""
    read: list[Any] = []
    at = 0
    for kind in kinds:
        (number,) = struct.unpack_from(">i", packet, at)
        at += 4
        if kind == "i":
            read.append(number)
        else:
            read.append(packet[at : at + number].decode())
            at += number + -number % 4
    assert at == len(packet)
    return read


@pytest.mark.feature("OP-09")
def test_ganglia_gets_packets(udp: socket.socket, metrics: list[ReportedMetric]) -> None:
    made("ganglia", host="127.0.0.1", port=udp.getsockname()[1], dmax=7).report([found(metrics, "rides.seen")], NOW)
    described, valued = received(udp)
    name = "host-1.taskmanager.host-1-9.loans.check, it.0.rides.seen"
    assert xdr(described, "ississsiiiiss") == [
        *(128, "host-1", name, 0, "double", name, ""),
        *(3, 60, 7, 1, "GROUP", "flink"),
    ]
    assert xdr(valued, "ississ"[:6]) == [133, "host-1", name, 0, "%s", "50.0"]


# ---- choosing, and the job ------------------------------------------------------------------------------------------


class Kept(MetricReporter):
    """Keeps what it gets."""

    made: list[Kept] = []

    def __init__(self, settings: ReporterSettings) -> None:
        super().__init__(settings)
        self.reports: list[Sequence[ReportedMetric]] = []
        self.closed = False
        Kept.made.append(self)

    def report(self, metrics: Sequence[ReportedMetric], now: int) -> None:
        self.reports.append(metrics)
        if self.settings.flag("broken", False):
            raise OSError("nobody there")

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    Kept.made.clear()


def test_reporters_are_found_by_flinks_class_by_module_and_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    flinks = made("org.apache.flink.metrics.slf4j.Slf4jReporterFactory")
    assert type(flinks).__name__ == "LogReporter"
    assert isinstance(made(f"{__name__}:Kept"), Kept)
    entry = metadata.EntryPoint("kept", f"{__name__}:Kept", ENTRY_POINTS)
    monkeypatch.setattr("firesteel.reporters.factories.entry_points", lambda group: [entry])
    assert isinstance(made("kept"), Kept)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("promethius", "Known are datadog, ganglia"),
        ("no.such:Thing", "cannot be loaded"),
        (f"{__name__}:nothing", "cannot be loaded"),
        ("builtins:list", "expected a class"),
    ],
)
def test_a_reporter_that_is_none_is_named(wanted: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        made(wanted)


class Counts(MapFunction):
    """Counts what it sees."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: Any) -> Any:
        self.seen.inc()
        return value


def run(**settings: str) -> None:
    keys = {f"metrics.reporter.{key.replace('__', '.')}": value for key, value in settings.items()}
    configuration = Configuration.from_dict({"execution.target": "in-process", **keys})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.from_sequence(1, 10).map(Counts()).name("counts").add_sink(lambda _: None)
    env.execute("counted")


@pytest.mark.feature("OP-07")
def test_a_job_reports_to_those_its_settings_name() -> None:
    run(mine__factory__class=f"{__name__}:Kept", mine__filter__includes="*operator*:seen,none:counter")
    (kept,) = Kept.made
    assert kept.closed
    last = kept.reports[-1]
    assert {each.name for each in last} == {"seen"}
    assert sum(each.value for each in last) == 10 and len(last) == 2, "the sum over two subtasks"


def test_a_receiver_that_is_away_does_not_hold_up_the_job(caplog: pytest.LogCaptureFixture) -> None:
    run(mine__factory__class=f"{__name__}:Kept", mine__broken="true")
    assert caplog.text.count("metric reporter mine fails, and is tried again: nobody there") == 1


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"mine__port": "1"}, r"metrics\.reporter\.mine\.factory\.class is not set"),
        ({"mine__factory__class": "statsd", "mine__port": "x"}, r"metrics\.reporter\.mine\.port has to be a number"),
        ({"mine__factory__class": "log", "mine__interval": "soon"}, r"mine\.interval has to be a duration"),
    ],
)
def test_wrong_settings_are_named_before_the_job_runs(settings: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        run(**settings)


def test_a_name_without_settings_is_named() -> None:
    configuration = Configuration.from_dict({"metrics.reporters": "mine, other", "metrics.reporter.mine.port": "1"})
    with pytest.raises(ConfigurationError, match="'other'"):
        MetricReporting.of(configuration, JobHistory())
    assert MetricReporting.of(Configuration.from_dict({}), JobHistory()) is None


def test_filters_exclude(history: JobHistory) -> None:
    settings = {"metrics.reporter.a.factory.class": f"{__name__}:Kept", "metrics.reporter.a.filter.excludes": "*job"}
    reporting = MetricReporting.of(Configuration.from_dict(settings), history)
    assert reporting is not None
    assert history.job is not None
    reporting(history.job)
    reporting(JobEnded(NOW, "FINISHED"))
    assert {each.scope for each in Kept.made[0].reports[-1]} == {
        "taskmanager.job.task",
        "taskmanager.job.task.operator",
    }


# ---- what is shipped ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yaml"])
def test_every_metric_in_shipped_files_exists(name: str, metrics: list[ReportedMetric]) -> None:
    text = resources.files("firesteel.reporters").joinpath("files", name).read_text(encoding="utf-8")
    read = yaml.safe_load(text)
    assert read
    named = set(re.findall(r"\bflink_\w+", text))
    reported = {each for each, _ in parsed(exposition(metrics))}
    assert len(named) > 5 and named <= reported
