"""Runs the same work on Firesteel and its peers, and writes bench/results/peers-<time>.json."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.machine import machine
from bench.peers import report as comparison
from bench.peers.catalogue import PEERS, WORKS, Peer
from bench.peers.run import RUNS, PeerError, run, service, set_up
from bench.reports import HISTORY, save

CHECKED, CHECKED_IF_SLOW = 60_000, 5_000
"""Records of the runs whose results are compared."""
SLOW = 10_000
"""Records per second."""
SECONDS = 3
"""How long a run is meant to take, apart from start-up. Start-up of the JVM and its first seconds come on top."""
Report = dict[str, Any]


def prepare(peers: list[Peer], works: list[str], report: Report) -> list[Peer]:
    """Set up environments; those that cannot be are noted and left out."""
    ready = []
    for peer in peers:
        try:
            set_up(peer)
            ready.append(peer)
        except PeerError as error:
            fail(report, peer.title, works[0], str(error))
    return ready


def check(peers: list[Peer], works: list[str], report: Report) -> list[tuple[Peer, list[tuple[str, str]]]]:
    """Compare results with those of the loop. Returns what is worth measuring: variants and works by peer."""
    wanted = {
        (work, count): run(PEERS["loop"], "", work, count, check=True)["digest"]
        for work in works
        for count in (CHECKED, CHECKED_IF_SLOW)
    }
    return [(peer, agreeing(peer, works, wanted, report)) for peer in peers]


def agreeing(peer: Peer, works: list[str], wanted: dict[tuple[str, int], Any], report: Report) -> list[tuple[str, str]]:
    """The variants and works of a peer that give the results that are wanted."""
    good = []
    with standing(report, peer, works[0]):
        for work in works:
            for variant in peer.variants:
                count = CHECKED_IF_SLOW if peer.rate(variant, work) < SLOW else CHECKED
                got = attempt(report, peer, variant, work, count, check=True)
                if got is None:
                    continue
                report["versions"][peer.name] = got["version"]
                expected = wanted[work, count]
                if got["digest"] != expected:
                    why = f"gives other results: {got['digest']}, expected {expected}"
                    fail(report, peer.row(variant), work, why)
                    continue
                good.append((variant, work))
                print(f"{WORKS[work]:20} {peer.row(variant):36} {expected['results']:,} results compared", flush=True)
    return good


def measure(good: list[tuple[Peer, list[tuple[str, str]]]], seconds: float, repetitions: int, report: Report) -> None:
    """All in turns, so that whatever disturbs the machine for long disturbs all alike."""
    for repetition in range(repetitions):
        for peer, pairs in good:
            with standing(report, peer, next(iter(WORKS))):
                for variant, work in pairs:
                    measure_one(peer, variant, work, seconds, repetition, report)
        save(report, "peers")


def measure_one(peer: Peer, variant: str, work: str, seconds: float, repetition: int, report: Report) -> None:
    """One run, which is noted."""
    records = peer.records(variant, work, seconds)
    got = attempt(report, peer, variant, work, records)
    if got is None:
        return
    where = {"peer": peer.name, "variant": variant, "work": work, "repetition": repetition}
    report["runs"].append({**where, "records": records, "times": got["times"]})
    times = "{rate:>12,.0f}/s over {steady:5.1f} s, start-up {startup:5.1f} s".format(**got["times"])
    print(f"{WORKS[work]:20} {peer.row(variant):36} {times}", flush=True)


@contextmanager
def standing(report: Report, peer: Peer, work: str) -> Iterator[None]:
    """What a peer needs besides its program. If that does not start, all its runs fail, and say so."""
    with ExitStack() as stack:
        try:
            stack.enter_context(service(peer))
        except PeerError as error:
            fail(report, peer.title, work, str(error))
        yield


def attempt(report: Report, peer: Peer, variant: str, work: str, records: int, check: bool = False) -> Report | None:
    """A run, or None if it failed, which is noted."""
    try:
        return run(peer, variant, work, records, check)
    except PeerError as error:
        fail(report, peer.row(variant), work, str(error))
        return None


def fail(report: Report, row: str, work: str, why: str) -> None:
    print(f"{row}, {WORKS[work]}: {why}", file=sys.stderr, flush=True)
    report["failures"].append({"row": row, "work": work, "why": why.splitlines()[-1]})


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", choices=[*PEERS, []], help="all if not given")
    parser.add_argument("--work", action="append", choices=list(WORKS), help="may be repeated; all if not given")
    parser.add_argument("--repetitions", type=int, default=3, help="each figure is the median of so many runs")
    parser.add_argument("--quick", action="store_true", help="few records, one repetition: to see that it runs")
    parser.add_argument("--page", action="store_true", help="write them to docs/performance.md and README.md")
    parser.add_argument(
        "--results",
        type=Path,
        nargs="+",
        help="earlier files of results: nothing is measured. Of what is in several of them, the last one counts",
    )
    chosen = parser.parse_args(arguments)
    if chosen.results:
        report = comparison.merged([json.loads(path.read_text(encoding="utf-8")) for path in chosen.results])
    else:
        seconds, repetitions = (1, 1) if chosen.quick else (SECONDS, chosen.repetitions)
        report = compare(chosen.peers or list(PEERS), chosen.work or list(WORKS), seconds, repetitions)
    print("\n" + comparison.markdown(report))
    if chosen.page:
        save(report, "peers", HISTORY)
        comparison.write_page(report)


def compare(names: list[str], works: list[str], seconds: float, repetitions: int) -> Report:
    """Set up, check, measure, write down."""
    report: Report = {"machine": machine(), "versions": {}, "failures": [], "runs": []}
    ready = prepare([PEERS[name] for name in PEERS if name in names], works, report)
    measure(check(ready, works, report), seconds, repetitions, report)
    if not report["failures"]:  # the logs say more about these
        shutil.rmtree(RUNS, ignore_errors=True)
    return report


if __name__ == "__main__":
    main(sys.argv[1:])
