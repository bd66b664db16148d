"""Structured Streaming, with Spark's own keyed state in Python where there is state: ``transformWithState``, with rows.

Configured as its documentation recommends: state in RocksDB, with changelog checkpoints; as many shuffle partitions
as cores. Batches are large, because each costs a call and two accesses to state per key.

Numbers come from Spark's own source. Events of Nexmark are read from files, and what needs no state is written in
expressions: there no Python is called per record.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyspark
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

from bench.peers.programs import files, inputs
from bench.peers.programs.harness import Task, Works, arguments, report
from bench.peers.programs.inputs import Auction, Bid, Person

BATCH = 1_000_000
OPTIONS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "2g",
}
FAR = 1_000_000_000
"""Milliseconds: the event time of what comes after the last record, so that all windows are closed."""


class RunningSum(StatefulProcessor):
    """One state read and one write per key and batch, one result per record."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total = handle.getValueState("total", "total long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        held = self.total.get()
        total = held[0] if held else 0
        for row in rows:
            total += row.number
            yield Row(key=key[0], total=total)
        self.total.update((total,))

    def close(self) -> None:
        pass


class TumblingSum(StatefulProcessor):
    """Sums per window in map state, and a timer per window. What is in one batch is added up before."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.sums = handle.getMapState("sums", "end long", "total long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        sums: dict[int, int] = {}
        for row in rows:
            end = inputs.window_end_of(inputs.event_time_of(row.number))
            sums[end] = sums.get(end, 0) + row.number
        for end, total in sums.items():
            held = self.sums.getValue((end,)) if self.sums.containsKey((end,)) else None
            self.sums.updateValue((end,), (total + (held[0] if held else 0),))
            self.handle.registerTimer(end)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        end = expiredTimerInfo.getExpiryTimeInMs()
        (total,) = self.sums.getValue((end,))
        self.sums.removeKey((end,))
        yield Row(key=key[0], total=total)

    def close(self) -> None:
        pass


class SessionSum(StatefulProcessor):
    """The open session in value state, and a timer for its end. A key's records come in order."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.open = handle.getValueState("open", "end long, total long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        held = self.open.get()
        end, total = held or (0, 0)
        if held:
            self.handle.deleteTimer(end)
        for number in sorted(row.number for row in rows):
            timestamp = inputs.event_time_of(number)
            if end and timestamp >= end:
                yield Row(key=key[0], total=total)
                total = 0
            end, total = timestamp + inputs.SESSION_GAP_MS, total + number
        self.open.update((end, total))
        self.handle.registerTimer(end)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        _, total = self.open.get()
        self.open.clear()
        yield Row(key=key[0], total=total)

    def close(self) -> None:
        pass


class WindowJoin(StatefulProcessor):
    """Meets each record with those of the other side in its window; keeps the windows that are still open."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.held = handle.getListState("held", "side int, number long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        windows: dict[int, tuple[list[int], list[int]]] = {}
        for side, number in self.held.get() if self.held.exists() else ():
            self._window(windows, number)[side].append(number)
        for row in rows:
            sides = self._window(windows, row.number)
            sides[row.side].append(row.number)
            for other in sides[1 - row.side]:
                one, two = (other, row.number) if row.side else (row.number, other)
                yield Row(key=key[0], one=one, other=two)
        newest = max(windows)
        self.held.put([(side, number) for side in (0, 1) for number in windows[newest][side]])

    @staticmethod
    def _window(windows: dict[int, tuple[list[int], list[int]]], number: int) -> tuple[list[int], list[int]]:
        return windows.setdefault(inputs.window_end_of(inputs.side_event_time_of(number)), ([], []))

    def close(self) -> None:
        pass


def numbers(spark: SparkSession, task: Task) -> DataFrame:
    """The records, and after them some that belong to nobody."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", batch(task))
    rows = source.option("numPartitions", task.parallelism).load()
    return rows.select(F.col("value").alias("number"))


def batch(task: Task) -> int:
    return min(BATCH, task.records // 4)


def running_sum(spark: SparkSession, task: Task) -> DataFrame:
    pairs = numbers(spark, task).filter(F.col("number") < task.records)
    keyed = pairs.select((F.col("number") % inputs.KEYS).alias("key"), "number").groupBy("key")
    sums = keyed.transformWithState(RunningSum(), "key long, total long", "Append", "None")
    return sums if task.check else sums.filter(F.col("total") % 100 == 0)


def windowed(spark: SparkSession, task: Task, key: Any, processor: StatefulProcessor) -> DataFrame:
    number = F.col("number")
    inside = number < task.records
    # The watermark begins at 0, and what is not later than the watermark is dropped: hence the first moment is 1.
    event_time = F.floor(number / 20) + 1
    pairs = numbers(spark, task).select(
        F.when(inside, key).otherwise(-1).alias("key"),
        number,
        F.timestamp_millis(F.when(inside, event_time).otherwise(number + FAR)).alias("at"),
    )
    keyed = pairs.withWatermark("at", "0 seconds").groupBy("key")
    results = keyed.transformWithState(processor, "key long, total long", "Append", "EventTime")
    return results.filter(F.col("key") >= 0).select("total")


def tumbling(spark: SparkSession, task: Task) -> DataFrame:
    return windowed(spark, task, F.col("number") % inputs.KEYS, TumblingSum())


def sessions(spark: SparkSession, task: Task) -> DataFrame:
    active = inputs.KEYS // 10
    turn = F.floor(F.col("number") / (active * inputs.SESSION_RECORDS)) % 10
    return windowed(spark, task, turn * active + F.col("number") % active, SessionSum())


def join(spark: SparkSession, task: Task) -> DataFrame:
    """Both sides are one stream here: even numbers are of the left, odd ones of the right."""
    side, number = F.col("number") % 2, F.floor(F.col("number") / 2)
    key = F.when(side == 0, number % inputs.KEYS).otherwise((number * 7 + 3) % inputs.KEYS)
    rows = numbers(spark, task).filter(F.col("number") < task.records)
    keyed = rows.select(key.alias("key"), side.cast("int").alias("side"), number.alias("number")).groupBy("key")
    return keyed.transformWithState(WindowJoin(), "key long, one long, other long", "Append", "None")


class HotItems(StatefulProcessor):
    """Counts per auction of one window, which is the key: read and written as a whole, once per batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        # Not a map: its keys could only be text.
        self.counts = handle.getValueState("counts", "auctions array<long>, counts array<long>")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        held = self.counts.get()
        counts = Counter(dict(zip(*held)) if held else {})
        counts.update(row.who for row in rows)
        self.counts.update((list(counts), list(counts.values())))
        if not held:
            self.handle.registerTimer(key[0])
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        auctions, counts = self.counts.get()
        self.counts.clear()
        most, end = max(counts), key[0]
        for auction, count in zip(auctions, counts):
            if count == most:
                yield Row(auction=auction, count=count, start=end - inputs.HOT_SIZE_MS, end=end)

    def close(self) -> None:
        pass


class NewUsers(StatefulProcessor):
    """The name of one person in one window, which are the key, until it turns out that they sell something in it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.seen = handle.getValueState("seen", "name string, sells boolean, told boolean")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        held = self.seen.get()
        name, sells, told = held or ("", False, False)
        for row in rows:
            if row.kind == Person.KIND:
                name = row.text
            else:
                sells = True
        if name and sells and not told:
            told = True
            yield Row(person=key[0], name=name, start=key[1] - inputs.NEW_USERS_MS)
        self.seen.update((name, sells, told))
        if not held:
            self.handle.registerTimer(key[1])

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        self.seen.clear()
        return iter(())

    def close(self) -> None:
        pass


EVENT = "kind int, date_time long, who long, bidder long, price long, text string"


def events(spark: SparkSession, task: Task) -> DataFrame:
    reader = spark.readStream.schema(EVENT).options(header=True, maxFilesPerTrigger=files_per_batch(task))
    return reader.csv(str(files.directory(task) / "events"))


def files_per_batch(task: Task) -> int:
    return max(batch(task) * files.FILES // task.records, 1)


def bids(spark: SparkSession, task: Task) -> DataFrame:
    return events(spark, task).filter(F.col("kind") == Bid.KIND)


def q0(spark: SparkSession, task: Task) -> DataFrame:
    return bids(spark, task).select("who", "bidder", "price", "date_time", "text")


def q1(spark: SparkSession, task: Task) -> DataFrame:
    return bids(spark, task).select("who", "bidder", F.col("price") * inputs.EURO, "date_time", "text")


def q2(spark: SparkSession, task: Task) -> DataFrame:
    return bids(spark, task).filter(F.col("who") % 123 == 0).select("who", "price")


def timed(spark: SparkSession, task: Task, kind: int) -> DataFrame:
    """All events but those of a kind, with a watermark. The row that closes the windows stays in for its sake."""
    rows = events(spark, task).filter(F.col("kind") != kind)
    return rows.withColumn("at", F.timestamp_millis("date_time")).withWatermark("at", "1 second")


def window_end(size: int) -> Column:
    return F.col("date_time") - F.col("date_time") % size + size


def q5(spark: SparkSession, task: Task) -> DataFrame:
    rows = timed(spark, task, Auction.KIND).filter(F.col("kind") != Person.KIND)
    first, slide = window_end(inputs.HOT_SLIDE_MS), inputs.HOT_SLIDE_MS
    ends = F.sequence(first, first + (inputs.HOT_SIZE_MS - slide), F.lit(slide).cast("long"))
    keyed = rows.select(F.explode(ends).alias("end"), "who", "at").groupBy("end")
    schema = "auction long, count long, start long, end long"
    return keyed.transformWithState(HotItems(), schema, "Append", "EventTime")


def q8(spark: SparkSession, task: Task) -> DataFrame:
    rows = timed(spark, task, Bid.KIND).withColumn("end", window_end(inputs.NEW_USERS_MS))
    keyed = rows.select("who", "end", "kind", "text", "at").groupBy("who", "end")
    return keyed.transformWithState(NewUsers(), "person long, name string, start long", "Append", "EventTime")


WORKS: Works = {each.__name__: each for each in (running_sum, tumbling, sessions, join, q0, q1, q2, q5, q8)}


def follow(query: StreamingQuery, task: Task) -> None:
    """Note batches as they end, until all records have passed; for the check, also what closes the windows.

    What is read from files ends by itself.
    """
    marks = task.marks
    last, passed, wanted = -1, 0, task.records + (3 * batch(task) if task.check else 0)
    while query.isActive and passed < wanted:
        time.sleep(0.1)
        for progress in query.recentProgress:
            if progress["batchId"] > last and progress["numInputRows"]:
                last = progress["batchId"]
                read = records_of(progress, task)
                passed += read
                marks.note(read)
    if query.exception() is not None:
        raise query.exception()


def records_of(progress: StreamingQueryProgress, task: Task) -> int:
    """How many records a batch was given. Of files, Spark counts only the rows that pass the filters."""
    if task.work in inputs.NEXMARK:
        return files_per_batch(task) * task.records // files.FILES
    return int(progress["numInputRows"])


def main() -> None:
    task = arguments()
    if task.work in inputs.NEXMARK:
        files.prepare(task)
    if task.prepare:
        return
    builder = SparkSession.builder.master(f"local[{task.parallelism}]")
    for key, value in {**OPTIONS, "spark.sql.shuffle.partitions": task.parallelism}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    results: list[Any] = []
    stream = WORKS[task.work](spark, task).writeStream
    if task.check:
        stream = stream.foreachBatch(lambda frame, _: results.extend(tuple(row) for row in frame.collect()))
    else:
        stream = stream.format("noop")
    with tempfile.TemporaryDirectory() as checkpoints:
        if task.work in inputs.NEXMARK:
            stream = stream.trigger(availableNow=True)
        query = stream.option("checkpointLocation", checkpoints).start()
        follow(query, task)
        report(task, pyspark.__version__, results if task.check else None)
        query.stop()
        spark.stop()


if __name__ == "__main__":
    main()
