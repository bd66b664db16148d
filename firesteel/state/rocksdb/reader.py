"""Reading a frozen copy of a database in a process that must not touch RocksDB itself, because it was forked.

A fork copies RocksDB's memory but not its threads, and any of its locks may be held for ever in the copy. So the forked
process starts a fresh one, which opens the files and answers. Requests and answers are pickled and go through pipes.
The fresh process ends when its input does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, Protocol

from firesteel.errors import StateError

_START = "from firesteel.state.rocksdb.reader import main; main()"
_FIRST, _MOST = 64, 4096
"""How many entries an answer to a scan has: few at first, because most scans are short."""

Pairs = list[tuple[bytes, bytes]]


class Source(Protocol):
    """A sorted map from bytes to bytes that can be read."""

    def get_many(self, keys: list[bytes]) -> Sequence[bytes | None]:
        """The values under several keys, in their order."""

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with the prefix, in order."""


class FrozenSource:
    """A database that does not change any more, read through another process.

    :param directory: A checkpoint of RocksDB.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: Connection
        self._answers: Connection

    def _start(self) -> None:
        """Start the other process: only when something is asked, since what is in memory may be all that is wanted."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, self._directory],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests = Connection(os.dup(self._process.stdin.fileno()), readable=False)
        self._answers = Connection(os.dup(self._process.stdout.fileno()), writable=False)
        self._process.stdin.close()
        self._process.stdout.close()

    def _ask(self, *request: Any) -> Any:
        if self._process is None:
            self._start()
        try:
            self._requests.send(request)
            return self._answers.recv()
        except (EOFError, OSError) as error:
            raise StateError(
                "the process that reads the frozen RocksDB state has ended; see its error output"
            ) from error

    def get_many(self, keys: list[bytes]) -> Sequence[bytes | None]:
        """The values under several keys, in their order."""
        found: Sequence[bytes | None] = self._ask("get_many", keys)
        return found

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """All keys that begin with the prefix, in order."""
        wanted = _FIRST
        while True:
            pairs: Pairs = self._ask("scan", prefix, after, wanted)
            yield from pairs
            if len(pairs) < wanted:
                return
            after = pairs[-1][0]
            wanted = min(2 * wanted, _MOST)

    def close(self) -> None:
        """End the other process, if it was started."""
        if self._process is None:
            return
        self._requests.close()
        self._answers.close()
        self._process.wait()


def serve(source: Source, requests: Connection, answers: Connection) -> None:
    """Answer until there are no more requests."""
    while True:
        try:
            kind, *arguments = requests.recv()
        except EOFError:
            return
        if kind == "get_many":
            answers.send(list(source.get_many(*arguments)))
        else:
            prefix, after, wanted = arguments
            answers.send(list(islice(source.scan(prefix, after), wanted)))


def main() -> None:
    """Serve the database whose directory the command line names; through the standard input and output."""
    from firesteel.state.rocksdb.disk import FrozenDisk

    requests = Connection(os.dup(0), writable=False)
    answers = Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # whatever prints must not get among the answers
    serve(FrozenDisk(sys.argv[1]), requests, answers)
