"""What users are told when something is wrong: in their own words first, then where in the program it was."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from firesteel.common import JobStatus, Time, Types
from firesteel.datastream import (
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.errors import (
    ConfigurationError,
    JobFailedError,
    ProgramError,
    SerializationError,
    TypeMismatchError,
)
from firesteel.model.functions.adapt import describe
from tests.features.executors import MakeEnv, collect, on_both


class Inverse(MapFunction):
    def map(self, value):
        return self.divide(1, value)

    def divide(self, one, value):
        return one / value


@on_both
def test_a_failing_function_fails_the_job_with_the_users_view(make_env: MakeEnv) -> None:
    env = make_env(2)
    numbers = env.from_collection([4, 2, 0, 1]).rebalance()
    numbers.map(Inverse()).name("invert").uid("inverse-1").print()  # the line that made the operator
    with pytest.raises(JobFailedError) as failure:
        env.execute()

    lines = str(failure.value).splitlines()
    assert lines[0] == "ZeroDivisionError: division by zero"
    assert lines[2] == "Traceback (most recent call last):"
    text = str(failure.value)
    assert "in map\n    return self.divide(1, value)" in text
    assert "in divide\n    return one / value" in text
    assert "/firesteel/" not in text.replace("firesteel/tests", "")
    assert lines[-3:] == [
        "  operator: invert (uid inverse-1)",
        f"  made at:  {__file__}:{line_of('the line that made the operator')}",
        "  record:   0",
    ]


def line_of(text: str) -> int:
    """The first line of this file that ends with a comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


@on_both
def test_a_failed_job_says_so_and_gives_what_was_complete_before(make_env: MakeEnv) -> None:
    env = make_env(1, {"firesteel.epoch.max-records": 2})
    inverses = env.from_collection([1, 2, 4, 0]).map(Inverse())
    results = inverses.execute_and_collect()
    read = []
    with pytest.raises(JobFailedError, match="division by zero"):
        read.extend(results)
    assert read == [1.0, 0.5]
    client = results.get_job_client()
    assert client.get_job_status().result() is JobStatus.FAILED
    with pytest.raises(JobFailedError, match="division by zero"):
        client.get_job_execution_result().result()


@pytest.mark.parametrize(
    "build",
    [
        lambda s: s.map(lambda n: 1 / n),
        lambda s: s.filter(lambda n: 1 / n),
        lambda s: s.flat_map(lambda n: [1 / n]),
        lambda s: s.process(lambda n, ctx: [1 / n]),
        lambda s: s.key_by(lambda n: 0).map(lambda n: 1 / n),
        lambda s: s.key_by(lambda n: 0).filter(lambda n: 1 / n),
        lambda s: s.key_by(lambda n: 0).process(lambda n, ctx: [1 / n]),
        lambda s: s.key_by(lambda n: 0).reduce(lambda a, b: 1 / b),
        lambda s: s.key_by(lambda n: 1 / n).map(lambda n: n),
        lambda s: s.partition_custom(lambda key, count: int(1 / key), lambda n: n).map(lambda n: n),
        lambda s: s.connect(s).map((lambda n: 1 / n, lambda n: n)),
        lambda s: s.connect(s).flat_map((lambda n: [n], lambda n: [1 / n])),
        lambda s: s.connect(s).process((lambda n, ctx: [1 / n], lambda n, ctx: [n])),
    ],
)
def test_every_operator_names_the_record_that_failed(env: StreamExecutionEnvironment, build) -> None:
    numbers = env.from_collection([5, 3, 0, 7])
    with pytest.raises(JobFailedError, match="ZeroDivisionError") as failure:
        collect(build(numbers))
    assert str(failure.value).endswith("record:   0")


def test_a_failing_sink_names_the_record(env: StreamExecutionEnvironment) -> None:
    env.from_collection([5, 0]).add_sink(lambda n: 1 / n).name("writer")
    with pytest.raises(JobFailedError, match="operator: writer") as failure:
        env.execute()
    assert str(failure.value).endswith("record:   0")


def test_long_records_are_shortened(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError) as failure:
        collect(env.from_collection(["x" * 10_000]).map(int).filter(bool))
    record = str(failure.value).rpartition("record:   ")[2]
    assert record.startswith("'xxx")
    assert len(record) < 250


class Speechless(Exception):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def fail_speechless(_):
    raise Speechless


@on_both
def test_exceptions_that_cannot_be_pickled_arrive_too(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError) as failure:
        collect(env.from_collection([1]).map(fail_speechless))
    assert str(failure.value).splitlines()[0] == "Speechless"


class FailsInTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp, ctx):
        raise LookupError(f"nothing for {ctx.get_current_key()} at {timestamp}")


def test_a_failing_timer_names_the_operator(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match="LookupError: nothing for 7 at 10") as failure:
        collect(env.from_collection([7]).key_by(lambda n: n).process(FailsInTimer()).name("timed"))
    assert "operator: timed" in str(failure.value)
    assert "record:" not in str(failure.value)


class FailsToRun(SourceFunction):
    def run(self, ctx):
        ctx.collect(1)
        raise ConnectionError("the feed is down")

    def cancel(self):
        pass


@on_both
def test_a_failing_source_fails_the_job(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match="the feed is down"):
        collect(env.add_source(FailsToRun(), "feed"))


@on_both
def test_a_source_that_cannot_be_read_names_itself_and_its_line(env: StreamExecutionEnvironment) -> None:
    lines = env.read_text_file("/not/there.txt")  # the line that made the source
    with pytest.raises(JobFailedError) as failure:
        collect(lines)
    assert str(failure.value).splitlines() == [
        "ConfigurationError: no file or directory '/not/there.txt' to read text from, on the machine of the driver. "
        "Check the path.",
        "",
        "  operator: Source: Text File (uid 1-Source: Text File)",
        f"  made at:  {__file__}:{line_of('the line that made the source')}",
    ]


def test_a_socket_that_nobody_listens_on_names_itself_and_the_line(env: StreamExecutionEnvironment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    lines = env.socket_text_stream("127.0.0.1", port)  # the line that made the socket
    with pytest.raises(JobFailedError) as failure:
        collect(lines)
    text = str(failure.value).splitlines()
    assert text[0].startswith(f"JobError: the connection to 127.0.0.1:{port} failed: [Errno 111] Connection refused.")
    assert text[-1] == f"  made at:  {__file__}:{line_of('the line that made the socket')}"
    assert len(text) <= 15


def test_a_checkpoint_directory_that_cannot_be_written_to_is_named(make_env: MakeEnv, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env = make_env(1, {"execution.checkpointing.dir": str(tmp_path / "file" / "below")})
    env.enable_checkpointing(1000)
    env.from_collection([1]).print()
    with pytest.raises(JobFailedError, match=r"below cannot be written to: Not a dir.*execution\.checkpointing\.dir"):
        env.execute()


def test_an_error_of_the_engine_comes_without_its_frames(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1]).key_by(lambda n: n)
    with pytest.raises(JobFailedError, match="with_timestamp_assigner") as failure:
        collect(numbers.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(max))
    assert "Traceback" not in str(failure.value)
    assert str(failure.value).endswith("record:   1")


def misspelt(value):
    return value.splt(",")


def chained(value):
    try:
        return int(value)
    except ValueError as error:
        raise LookupError("no number") from error


def test_a_misspelt_name_in_a_function_is_suggested(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match=r"no attribute 'splt'\. Did you mean: 'split'\?"):
        collect(env.from_collection(["a"]).map(misspelt))


def test_the_cause_that_a_function_gives_is_shown(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match=r"ValueError: invalid literal[^$]*The above[^$]*LookupError: no"):
        collect(env.from_collection(["a"]).map(chained))


def test_a_program_without_a_sink_is_an_error(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda n: n)
    with pytest.raises(ProgramError, match="the program has no sink"):
        env.execute()


def test_an_empty_program_is_an_error_too(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(ProgramError, match="the program has no sink"):
        env.execute("nothing")


@pytest.mark.feature("TY-08")
def test_a_lock_captured_by_a_lambda_is_named(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    lock, mark = threading.Lock(), tmp_path / "started"

    def guarded(value):
        with lock:
            return value

    env.from_collection([1]).map(lambda n: mark.touch()).map(guarded).print()
    with pytest.raises(SerializationError) as failure:
        env.execute()
    message = str(failure.value)
    assert "variable 'lock' captured by" in message
    assert "guarded" in message
    assert "in open()" in message
    assert f"{__file__}:" in message
    assert not mark.exists()


class HoldsLock(ReduceFunction):
    def __init__(self):
        self.guard = threading.Lock()

    def reduce(self, value1, value2):
        return value1


@pytest.mark.feature("TY-08")
def test_a_lock_in_a_function_object_is_named(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).key_by(lambda n: n).reduce(HoldsLock()).print()
    with pytest.raises(SerializationError, match=r"attribute 'guard' of HoldsLock"):
        env.execute()


@pytest.mark.feature("TY-08")
def test_a_lock_in_a_key_selector_is_named(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    env.from_collection([1]).key_by(lambda n: (n, lock.locked())).map(lambda n: n).print()
    with pytest.raises(SerializationError, match=r"key_by\(\).*variable 'lock' captured by"):
        env.execute()


@on_both
def test_a_partitioner_that_points_nowhere_is_an_error(make_env: MakeEnv) -> None:
    partitioned = make_env(2).from_collection([1, 2, 3]).partition_custom(lambda key, count: key, lambda n: n)
    with pytest.raises(JobFailedError, match="the partitioner returned 2; expected a number from 0 to 1") as failure:
        collect(partitioned.map(lambda n: n))
    assert str(failure.value).endswith("record:   2")


@pytest.mark.parametrize("wrong", ["first", None, 0.5, -1])
def test_a_partitioner_must_return_the_number_of_a_subtask(make_env: MakeEnv, wrong) -> None:
    partitioned = make_env(2).from_collection([1]).partition_custom(lambda key, count: wrong, lambda n: n)
    with pytest.raises(JobFailedError, match=f"the partitioner returned {wrong!r}"):
        collect(partitioned.map(lambda n: n))


def test_two_operators_with_one_uid_are_an_error(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1]).map(lambda n: n).name("first").uid("same")
    numbers.map(lambda n: n).name("second").uid("same").print()
    with pytest.raises(ProgramError, match=r"two operators have the uid 'same': 'first' .*test_errors.* and 'second'"):
        env.execute()


def test_forward_between_different_parallelisms_is_an_error(make_env: MakeEnv) -> None:
    env = make_env(2)
    env.from_sequence(1, 2).forward().map(lambda n: n).set_parallelism(3).print()
    with pytest.raises(ProgramError, match="it needs equal ones"):
        env.execute()


class UsesState(MapFunction):
    def open(self, runtime_context):
        runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def map(self, value):
        return value


@on_both
def test_state_without_keys_is_an_error_that_says_what_to_do(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match=r"state 'seen' cannot be used .*Call key_by"):
        collect(env.from_collection([1]).map(UsesState()))


def test_values_that_cannot_be_added_are_an_error(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(
        JobFailedError, match=f"{TypeMismatchError.__name__}: sum: the values of field 1 cannot be added"
    ):
        collect(env.from_collection([("a", 1), ("a", "two")]).key_by(0).sum(1))


def test_a_missing_field_is_an_error_that_names_it(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(JobFailedError, match=r"key_by.*'missing'") as failure:
        collect(env.from_collection([{"there": 1}]).key_by("missing").map(lambda n: n))
    assert str(failure.value).endswith("record:   {'there': 1}")


def test_a_generator_given_to_map_is_refused_when_it_is_given(env: StreamExecutionEnvironment) -> None:
    def several(value):
        yield value

    with pytest.raises(ConfigurationError, match="Use flat_map") as failure:
        env.from_collection([1]).map(several)
    assert describe(several) in str(failure.value)
