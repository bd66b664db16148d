"""Serializers of users' own, of several jobs in one process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import BinaryIO

from firesteel.common import TypeSerializer
from firesteel.state import codec


@dataclass(frozen=True)
class Amount:
    cents: int


class InCents(TypeSerializer[Amount]):
    def serialize(self, element: Amount, stream: BinaryIO) -> None:
        stream.write(b"cents %d" % element.cents)

    def deserialize(self, stream: BinaryIO) -> Amount:
        return Amount(int(stream.read().removeprefix(b"cents ")))


class Doubled(InCents):
    def serialize(self, element: Amount, stream: BinaryIO) -> None:
        stream.write(b"halves %d" % (2 * element.cents))

    def deserialize(self, stream: BinaryIO) -> Amount:
        return Amount(int(stream.read().removeprefix(b"halves ")) // 2)


def test_each_job_has_its_own_serializers() -> None:
    all_told = threading.Barrier(3)
    written: dict[str, bytes] = {}
    read: list[Amount] = []

    def job(name: str, serializers: list[tuple[type, TypeSerializer[Amount]]]) -> None:
        codec.register_serializers(serializers)
        all_told.wait(10)
        written[name] = codec.dumps(Amount(5))
        read.append(codec.loads(written[name]))

    cases = {"cents": [(Amount, InCents())], "halves": [(Amount, Doubled())], "none": []}
    jobs = [threading.Thread(target=job, args=case) for case in cases.items()]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    assert read == [Amount(5)] * 3
    assert b"cents 5" in written["cents"] and b"halves 10" in written["halves"]
    assert b"cents 5" not in written["none"] and b"halves" not in written["none"]
