"""Files with the records, for engines that are quicker when they read their input than when Python makes it.

They are written before the clock starts, and kept: works with the same input read the same ones.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.peers.programs import inputs
from bench.peers.programs.harness import Task
from bench.peers.programs.inputs import Auction, Bid, NexmarkGenerator, Person

FILES = 50
END_OF_TIME = 4_000_000_000_000
"""The event time, in milliseconds, of the one row after the last event of Nexmark, whose kind is ``CLOSING``."""
CLOSING = 3


@dataclass(frozen=True)
class Folder:
    """What a folder of files holds.

    :param count: How many records, or blocks of events.
    :param lines: Makes the lines of a range of them.
    """

    columns: tuple[str, ...]
    count: int
    lines: Callable[[range], Iterable[str]]
    closing: str = ""


def folders(task: Task) -> dict[str, Folder]:
    """What a work reads, by the name of the folder."""
    if task.work == "join":
        half, pair = task.records // 2, "{},{}\n".format
        return {
            "left": Folder(("key", "number"), half, lambda part: (pair(*inputs.left_of(each)) for each in part)),
            "right": Folder(("key", "number"), half, lambda part: (pair(*inputs.right_of(each)) for each in part)),
        }
    if task.work in inputs.NEXMARK:
        columns = ("kind", "date_time", "who", "bidder", "price", "text")
        closing = f"{CLOSING},{END_OF_TIME},0,0,0,\n"
        return {"events": Folder(columns, task.records // inputs.BLOCK, events, closing)}
    return {"numbers": Folder(("number",), task.records, lambda part: (f"{number}\n" for number in part))}


def events(blocks: range) -> Iterator[str]:
    """Events of Nexmark, as far as the queries look at them.

    Of a bid: auction (``who``), bidder, price and extra; of an auction: its seller; of a person: id, and name as text.
    """
    generator = NexmarkGenerator()
    for block in blocks:
        for event in generator.block(block):
            if event[0] == Bid.KIND:
                auction, bidder, price, date_time, extra = inputs.short_bid(event)
                yield f"2,{date_time},{auction},{bidder},{price},{extra}\n"
            elif event[0] == Auction.KIND:
                yield f"1,{event[1]},{event[Auction.SELLER]},0,0,\n"
            else:
                yield f"0,{event[1]},{event[Person.ID]},0,0,{event[Person.NAME]}\n"


def directory(task: Task) -> Path:
    """Where the folders of a work are."""
    kind = "nexmark" if task.work in inputs.NEXMARK else "join" if task.work == "join" else "numbers"
    return (task.inputs or task.out.parent) / f"{kind}-{task.records}"


def prepare(task: Task) -> None:
    """Write the files, unless they are there with these columns."""
    made = folders(task)
    shape = str({name: (folder.columns, folder.closing) for name, folder in made.items()})
    written = directory(task) / "written"
    if written.exists() and written.read_text(encoding="utf-8") == shape:
        return
    for name, folder in made.items():
        _write(directory(task) / name, folder)
    written.write_text(shape, encoding="utf-8")


def _write(path: Path, folder: Folder) -> None:
    path.mkdir(parents=True, exist_ok=True)
    now = int(time.time())
    for part in range(FILES):
        file = path / f"{part:04}.csv"
        with file.open("w", encoding="utf-8") as out:
            out.write(",".join(folder.columns) + "\n")
            out.writelines(folder.lines(range(part * folder.count // FILES, (part + 1) * folder.count // FILES)))
            if part == FILES - 1:
                out.write(folder.closing)
        # Engines take files in the order in which they were changed, to the millisecond.
        os.utime(file, (now - FILES + part,) * 2)
