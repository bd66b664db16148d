"""Times from marks of progress, and digests of results: what the comparison with peers stands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import programs
from bench.peers import run as running
from bench.peers.catalogue import PEERS, WORKS, Peer, rates
from bench.peers.programs import inputs, loop
from bench.peers.programs.harness import Task, arguments, digest, final
from bench.peers.run import HERE, PeerError, run, service, steady_state


def test_steady_state_begins_at_thirty_per_cent_of_the_records_of_all_subtasks_together() -> None:
    first = [(10.0, 1), (11.0, 149), (13.0, 350)]
    second = [(10.5, 1), (12.0, 149), (13.5, 350)]
    times = steady_state(first + second, records=1000, started=4.0, ended=14.0)
    assert times.startup == 6.0
    assert times.steady == 2.0
    assert times.rate == 700 / 2.0
    assert times.whole == 10.0


def test_what_works_on_everything_at_once_is_measured_from_its_first_mark() -> None:
    times = steady_state([(10.0, 1), (20.0, 999)], records=1000, started=8.0, ended=20.0)
    assert times.rate == 999 / 10.0


def test_no_marks_are_an_error_not_a_figure() -> None:
    with pytest.raises(PeerError, match="no progress"):
        steady_state([], records=1000, started=0.0, ended=1.0)


def test_a_digest_does_not_depend_on_the_order_but_on_every_result() -> None:
    results = [(1, 2), (3, 4), (3, 4)]
    assert digest(results) == digest(reversed(results))
    assert digest(results) == digest([list(each) for each in results])
    assert digest(results) != digest([(1, 2), (3, 4)])
    assert digest(results) != digest([(1, 2), (3, 4), (4, 3)])
    assert digest([5, 6]) == digest([(6,), (5,)])


def test_the_final_sum_of_a_key_is_its_highest() -> None:
    assert sorted(final([(1, 5), (2, 1), (1, 9), (1, 7)])) == [(1, 9), (2, 1)]


def test_records_are_those_of_the_other_benchmarks() -> None:
    for number in range(0, 200_000, 37):
        assert inputs.event_time_of(number) == programs.event_time_of(number)
        assert inputs.session_key_of(number) == programs.session_key_of(number, inputs.KEYS)


def test_each_key_has_one_record_of_each_side_in_a_window_of_the_join() -> None:
    for of in (inputs.left_of, inputs.right_of):
        assert sorted(of(number)[0] for number in range(20_000, 30_000)) == list(range(10_000))


def test_every_work_has_a_loop_and_every_engine_a_rate_for_it(tmp_path: Path) -> None:
    assert set(loop.WORKS) == set(WORKS)
    for peer in PEERS.values():
        assert set(peer.rates) == set(WORKS)
        assert all(set(rates) == set(WORKS) for rates in peer.variant_rates.values())


@pytest.mark.parametrize("work", list(WORKS))
def test_loops_give_results_that_follow_from_the_input(work: str, tmp_path: Path) -> None:
    results: list[object] = []
    records = 20_000
    loop.WORKS[work](Task(work, records, 2, tmp_path / "out", check=True), results.append)
    bids = records // inputs.BLOCK * 46
    expected = {"running_sum": records, "tumbling": 10_000, "sessions": 4_000, "join": 10_000, "q0": bids, "q1": bids}
    assert len(results) == expected.get(work, len(results))
    assert results
    if work in ("tumbling", "sessions"):
        assert sum(results) == sum(range(records))  # type: ignore[call-overload]


def test_engines_with_an_environment_of_their_own_have_pinned_versions() -> None:
    for path in (HERE / "requirements").glob("*.txt"):
        assert path.stem in PEERS
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert lines
        assert all("==" in line for line in lines)


def test_arguments_of_a_program() -> None:
    task = arguments(["q5", "--records", "100", "--out", "there", "--check"])
    assert task == Task("q5", 100, 2, Path("there"), check=True)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("RUNS", "SERVICE", "INPUTS"):
        monkeypatch.setattr(running, name, tmp_path / name.lower())
    return tmp_path


def test_a_run_tells_its_times_or_the_digest_of_its_results(folders: Path) -> None:
    timed = run(PEERS["loop"], "", "running_sum", 10_000)
    assert timed["times"]["rate"] > 0
    assert "digest" not in timed
    checked = run(PEERS["loop"], "", "running_sum", 10_000, check=True)
    assert checked["digest"] == digest((number, number) for number in range(10_000))


def test_a_program_that_fails_is_an_error_with_the_end_of_its_log(folders: Path) -> None:
    with pytest.raises(PeerError, match="a plain loop, one core failed") as raised:
        run(PEERS["loop"], "", "no such work", 10_000)
    assert "KeyError: 'no such work'" in str(raised.value)


def test_a_service_that_does_not_start_is_an_error_with_the_end_of_its_log(folders: Path) -> None:
    peer = Peer("some", "Some engine", "none", rates(1), service="no_such_program")
    with pytest.raises(PeerError, match="Some engine: its no_such_program does not start") as raised, service(peer):
        pytest.fail("it stands")
    assert "No module named bench.peers.programs.no_such_program" in str(raised.value)
