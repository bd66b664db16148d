"""A lease that is being renewed is not taken for a lost one."""

from __future__ import annotations

import threading
from typing import Any

from firesteel.execution.directory_lock import DirectoryLock
from firesteel.state.filesystem import FileStore


class Bucket(FileStore):
    """An object store in memory, which says when something is deleted."""

    def __init__(self) -> None:
        super().__init__("s3://bucket")
        self.content: dict[str, bytes] = {}
        self.deleted: Any = lambda: None

    def write(self, name: str, data: Any, durable: bool = True) -> None:
        self.content[name] = data

    def read(self, name: str) -> bytes:
        return self.content[name]

    def exists(self, name: str) -> bool:
        return name in self.content

    def size(self, name: str) -> int:
        return len(self.content[name])

    def names(self, folder: str = "") -> list[str]:
        return sorted(name.removeprefix(f"{folder}/") for name in self.content if name.startswith(folder))

    def delete(self, name: str) -> None:
        self.content.pop(name, None)
        self.deleted()


def test_a_lease_is_there_while_its_claim_is_replaced() -> None:
    bucket, problems = Bucket(), []
    lock = DirectoryLock(bucket)
    lock.acquire(1000)
    looking: list[threading.Thread] = []

    def look() -> None:
        try:
            lock.check()
        except Exception as error:
            problems.append(error)

    def deleted() -> None:
        """The old claim has gone, and whoever looks now finds it gone."""
        looking.append(threading.Thread(target=look))
        looking[0].start()
        looking[0].join(0.05)

    bucket.deleted = deleted
    lock.renew(2000)
    bucket.deleted = lambda: None
    looking[0].join()
    assert problems == []
    lock.release()
