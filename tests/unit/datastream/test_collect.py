"""Results are handed over through a bounded buffer: the job waits for the reader, closing cancels."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from firesteel.common import CompletableFuture
from firesteel.datastream import CloseableIterator, DataStream, StreamExecutionEnvironment
from firesteel.datastream._internal.collect import ResultBuffer
from firesteel.errors import JobFailedError
from tests.unit.datastream.recording import FinishedClient, RecordingExecutor


def iterator_over(buffer: ResultBuffer, client: Any | None = None) -> CloseableIterator:
    return CloseableIterator(buffer, client or FinishedClient())  # type: ignore[arg-type]


def test_results_come_in_order_and_end() -> None:
    buffer = ResultBuffer()
    buffer.accept(0, [1, 2])
    buffer.accept(1, [3])
    buffer.finished(None)
    results = iterator_over(buffer)
    assert results.next() == 1
    assert list(results) == [2, 3]
    with pytest.raises(StopIteration):
        results.next()


def test_the_error_of_the_job_comes_after_its_results() -> None:
    buffer = ResultBuffer()
    buffer.accept(0, [1])
    buffer.finished(JobFailedError("boom"))
    results = iterator_over(buffer)
    assert next(results) == 1
    with pytest.raises(JobFailedError, match="boom"):
        next(results)


def test_results_stream_while_the_job_runs() -> None:
    buffer = ResultBuffer()
    read: list[int] = []
    first_read = threading.Event()

    def reader() -> None:
        for value in iterator_over(buffer):
            read.append(value)
            first_read.set()

    thread = threading.Thread(target=reader)
    thread.start()
    buffer.accept(0, [1])
    assert first_read.wait(10), "the reader waits for the end of the job"
    buffer.accept(0, [2])
    buffer.finished(None)
    thread.join(10)
    assert read == [1, 2]


def test_the_job_waits_for_a_slow_reader() -> None:
    buffer = ResultBuffer(capacity=2)
    handed_over: list[int] = []
    progress = threading.Semaphore(0)

    def job() -> None:
        for number in range(5):
            buffer.accept(0, [number])
            handed_over.append(number)
            progress.release()
        buffer.finished(None)

    thread = threading.Thread(target=job, daemon=True)
    thread.start()
    for _ in range(2):
        assert progress.acquire(timeout=10)
    assert not progress.acquire(timeout=0.05), "a third record went into a buffer for two"
    results = iterator_over(buffer)
    assert next(results) == 0
    assert progress.acquire(timeout=10)
    assert list(results) == [1, 2, 3, 4]
    thread.join(10)
    assert handed_over == [0, 1, 2, 3, 4]


def test_closing_cancels_the_job_once_and_lets_it_go_on_to_its_end() -> None:
    buffer, client = ResultBuffer(capacity=1), FinishedClient()
    results = iterator_over(buffer, client)
    buffer.accept(0, [1])
    with results as same:
        assert same is results
        assert next(results) == 1
    assert client.cancelled == 1
    results.close()
    assert client.cancelled == 1
    buffer.accept(0, [2, 3])  # does not wait: nobody reads any more
    buffer.accept(0, [4])
    assert list(results) == []


def test_closing_after_the_end_cancels_nothing() -> None:
    buffer, client = ResultBuffer(), FinishedClient()
    results = iterator_over(buffer, client)
    buffer.finished(None)
    results.close()
    assert client.cancelled == 0


def test_closing_waits_for_the_end_of_the_job() -> None:
    ended: CompletableFuture[None] = CompletableFuture()

    class SlowClient(FinishedClient):
        def cancel(self) -> CompletableFuture[None]:
            super().cancel()
            threading.Timer(0.01, ended.set_result, [None]).start()
            return ended

    results = iterator_over(ResultBuffer(), SlowClient())
    results.close()
    assert ended.done()


def test_forgetting_the_iterator_cancels_the_job() -> None:
    client = FinishedClient()
    results = iterator_over(ResultBuffer(), client)
    del results
    gc.collect()
    assert client.cancelled == 1


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3])


def test_execute_and_collect_submits_in_the_background(
    env: StreamExecutionEnvironment, executor: RecordingExecutor
) -> None:
    executor.deliver = [1, 2, 3]
    results = numbers(env).execute_and_collect("my job")
    assert list(results) == [1, 2, 3]
    assert executor.submissions[0].plan.name == "my job"
    assert executor.submissions[0].detached


def test_a_limit_makes_a_list(env: StreamExecutionEnvironment, executor: RecordingExecutor) -> None:
    executor.deliver = [1, 2, 3]
    assert numbers(env).execute_and_collect(limit=2) == [1, 2]
    assert numbers(env).execute_and_collect(limit=9) == [1, 2, 3]
