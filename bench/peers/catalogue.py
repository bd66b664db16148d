"""What is compared: the works, and the engines with the ways in which each of them is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WORKS = {
    "running_sum": "keyed running sum",
    "tumbling": "tumbling window sum",
    "sessions": "session windows",
    "join": "window join",
    "q0": "Nexmark q0",
    "q1": "Nexmark q1",
    "q2": "Nexmark q2",
    "q5": "Nexmark q5",
    "q8": "Nexmark q8",
}
BASIC = ("running_sum", "tumbling", "sessions", "join")
NEXMARK = ("q0", "q1", "q2", "q5", "q8")


@dataclass(frozen=True)
class Peer:
    """An engine, or none.

    :param name: Of its program (``on_<name>``) and of its virtual environment.
    :param variants: The ways to run it that are measured, by work, the first for what is not named: what they are
        called in the program, and for people.
    :param rates: About how many records per second it does on two cores. Only to choose how many records to measure.
    :param slower: Variants that are slower than that, and by how many times.
    :param missing: Works that it is not measured on, and why.
    :param guarantee: What happens to results when a process dies, as it is run here.
    :param prepared: Whether it reads files that are written before the clock starts.
    """

    name: str
    title: str
    guarantee: str
    rates: Mapping[str, int]
    variants: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slower: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    prepared: bool = False

    def runs(self, work: str) -> list[str]:
        """The variants that are measured on a work."""
        if work in self.missing:
            return []
        return [variant for variant in self.variants if work in self.only.get(variant, (work,))]

    def records(self, variant: str, work: str, seconds: float) -> int:
        """As many records as take about so long, in round numbers that suit all works."""
        rate = self.rates[work] / self.slower.get(variant, 1)
        return max(round(rate * seconds / 20_000), 1) * 20_000

    def row(self, variant: str) -> str:
        """What a row of the table is called."""
        text = self.variants[variant]
        return f"{self.title}, {text}" if text else self.title


def rates(every: int, **others: int) -> dict[str, int]:
    """The same for all works but some."""
    return {work: others.get(work, every) for work in WORKS}


_NOT_WRITTEN = "needs no state, or two steps of it: not written for transformWithState"

PEERS = {
    "loop": Peer("loop", "a plain loop, one core", "none", rates(1_500_000, running_sum=3_000_000)),
    "firesteel": Peer(
        "firesteel",
        "Firesteel",
        "epochs, state in memory; a failed job begins anew (no checkpoints, the default)",
        rates(600_000, running_sum=1_000_000, q0=800_000, q1=800_000, q2=1_000_000),
    ),
    "pyflink": Peer(
        "pyflink",
        "PyFlink",
        "no checkpoints (the default)",
        rates(30_000, running_sum=30_000, tumbling=15_000, sessions=10_000, join=10_000),
        {
            "process-default": "processes, as it comes",
            "process-tuned": "processes, tuned",
            "thread-default": "threads, as it comes",
            "thread-tuned": "threads, tuned",
        },
        slower={"process-default": 15, "process-tuned": 3},
        only=dict.fromkeys(("process-default", "process-tuned", "thread-default"), ("running_sum",)),
    ),
    "bytewax": Peer(
        "bytewax",
        "Bytewax",
        "no recovery (the default)",
        rates(60_000, running_sum=500_000, q0=600_000, q1=600_000, q2=600_000, q8=500_000),
        {"worker": "one worker", "processes": "two processes"},
    ),
    "pathway": Peer(
        "pathway",
        "Pathway",
        "no persistence (the default)",
        rates(200_000, running_sum=400_000, q0=400_000, q1=400_000, q2=400_000, q8=2_000_000),
        prepared=True,
    ),
    "spark": Peer(
        "spark",
        "Spark, transformWithState",
        "checkpoints to disk after each batch: exactly once",
        rates(60_000, running_sum=100_000),
        missing=dict.fromkeys(NEXMARK, _NOT_WRITTEN),
    ),
}
