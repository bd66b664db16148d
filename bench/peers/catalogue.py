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


@dataclass(frozen=True)
class Peer:
    """An engine, or none.

    :param name: Of its program (``on_<name>``) and of its virtual environment.
    :param variants: The ways to run it that are measured: what they are called in the program, and for people.
    :param rates: About how many records per second it does on two cores. Only to choose how many records to measure.
    :param variant_rates: The same for variants that differ much.
    :param longer: How many times as long it is measured as others. A JVM takes long to reach its steady state.
    :param guarantee: What happens to results when a process dies, as it is run here.
    :param service: The program that has to stand while this one runs, such as a cluster.
    :param prepared: Whether it reads files that are written before the clock starts.
    """

    name: str
    title: str
    guarantee: str
    rates: Mapping[str, int]
    variants: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    variant_rates: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    longer: float = 1
    prepared: bool = False
    service: str = ""

    def rate(self, variant: str, work: str) -> int:
        """About how many records per second are to be expected."""
        return self.variant_rates.get(variant, self.rates)[work]

    def records(self, variant: str, work: str, seconds: float) -> int:
        """As many records as take about so long, in round numbers that suit all works."""
        return max(round(self.rate(variant, work) * seconds * self.longer / 10_000), 1) * 10_000

    def row(self, variant: str) -> str:
        """What a row of the table is called."""
        text = self.variants[variant]
        return f"{self.title}, {text}" if text else self.title


def rates(every: int, **others: int) -> dict[str, int]:
    """The same for all works but some."""
    return {work: others.get(work, every) for work in WORKS}


PEERS = {
    "loop": Peer("loop", "a plain loop, one core", "none", rates(1_500_000, running_sum=3_000_000)),
    "firesteel": Peer(
        "firesteel",
        "Firesteel",
        "epochs, state in memory; a failed job begins anew (no checkpoints, the default)",
        rates(600_000, running_sum=1_500_000, tumbling=900_000, join=400_000, q0=1_500_000, q1=1_500_000, q2=2_000_000),
        longer=2,
    ),
    "pyflink": Peer(
        "pyflink",
        "PyFlink",
        "no checkpoints (the default)",
        rates(250_000, running_sum=40_000, tumbling=15_000, sessions=12_000, join=20_000, q5=4_000, q8=130_000),
        {
            "process-default": "processes, as it comes",
            "process-tuned": "processes, tuned",
            "thread-default": "threads, as it comes",
            "thread-tuned": "threads, tuned",
        },
        variant_rates={
            "process-default": rates(
                40_000, running_sum=1_100, tumbling=700, sessions=700, join=1_500, q5=700, q8=7_000
            ),
            "process-tuned": rates(
                # Of the running sum more than it does: state is fetched before it begins and sent back at the end.
                60_000,
                running_sum=100_000,
                tumbling=1_500,
                sessions=1_500,
                join=3_000,
                q5=1_500,
                q8=15_000,
            ),
        },
        longer=2,
        service="flink_cluster",
    ),
    "bytewax": Peer(
        "bytewax",
        "Bytewax",
        "no recovery (the default)",
        rates(80_000, running_sum=500_000, q0=1_000_000, q1=1_000_000, q2=1_000_000, q8=700_000),
        {"worker": "one worker", "processes": "two processes"},
    ),
    "pathway": Peer(
        "pathway",
        "Pathway",
        "no persistence (the default)",
        rates(200_000, running_sum=500_000, sessions=30_000, q0=400_000, q1=400_000, q2=400_000, q8=1_000_000),
        prepared=True,
    ),
    "spark": Peer(
        "spark",
        "Spark, transformWithState",
        "checkpoints to disk after each batch: exactly once",
        # Where there is state, more than it does: a batch costs some calls per key, so it must be large.
        rates(600_000, running_sum=150_000, tumbling=50_000, sessions=60_000, join=50_000, q5=40_000, q8=100_000),
        prepared=True,
        longer=2,
    ),
}
