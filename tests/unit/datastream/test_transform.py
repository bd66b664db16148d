"""transform: operators of one's own on streams of every kind, built and run in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import MultipleConnectedStreams, StreamExecutionEnvironment
from firesteel.datastream.state import MapStateDescriptor
from firesteel.errors import FiresteelError, JobFailedError, ProgramError
from firesteel.plan.graph import OperatorTransformation
from firesteel.runtime.batch import RowBatch
from firesteel.runtime.operator import MultipleInputOperator, Operator
from firesteel.state.backend import value_table


class Labelled(MultipleInputOperator):
    """Writes a label and the number of the input on each record; with keyed state, the count of its key too."""

    def __init__(self, label: str) -> None:
        self._label = label

    def open(self) -> None:
        keyed = self.context.keyed_state
        self._counts = None if keyed is None else value_table(keyed, "counts")

    def process_input(self, input_index: int, batch: RowBatch) -> None:
        self.cursor = cursor = iter(batch.values)
        if self._counts is None or batch.keys is None:
            results: list[Any] = [(self._label, input_index, value) for value in cursor]
        else:
            entries, results = self._counts.batch_entries, []
            for value, key in zip(cursor, batch.keys):
                entries[key] = count = entries.get(key, 0) + 1
                results.append((self._label, input_index, value, count))
            self._counts.dirty.update(batch.keys)
        self.output.emit(RowBatch(results, batch.timestamps))


class Failing(Operator):
    """Raises at the record 3."""

    def process(self, batch: RowBatch) -> None:
        self.cursor = cursor = iter(batch.values)
        self.output.emit(RowBatch([1 // (value - 3) for value in cursor], batch.timestamps))


labelled = partial(Labelled, "own")
RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results)


def test_on_a_plain_stream(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1, 2]).transform("own operator", Types.PICKLED_BYTE_ARRAY(), labelled)
    node = stream.get_transformation()
    assert isinstance(node, OperatorTransformation)
    assert (node.name, node.output_type, node.key_selectors) == ("own operator", Types.PICKLED_BYTE_ARRAY(), None)
    assert node.call_site.startswith(__file__)
    assert collected(stream) == [("own", 0, 1), ("own", 0, 2)]


def test_on_a_keyed_stream_it_has_state_per_key(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(["a", "b", "A"]).key_by(str.lower).transform("own", None, labelled)
    assert collected(stream) == [("own", 0, "A", 2), ("own", 0, "a", 1), ("own", 0, "b", 1)]


def test_on_connected_streams(env: StreamExecutionEnvironment) -> None:
    numbers, words = env.from_collection([1, 2]), env.from_collection(["x"])
    assert collected(numbers.connect(words).transform("own", None, labelled)) == [
        ("own", 0, 1),
        ("own", 0, 2),
        ("own", 1, "x"),
    ]


def test_on_connected_keyed_streams_both_inputs_share_the_state(env: StreamExecutionEnvironment) -> None:
    first, second = env.from_collection(["a"]), env.from_collection(["A", "b"])
    connected = first.key_by(str.lower).connect(second.key_by(str.lower))
    results = collected(connected.transform("own", None, labelled))
    assert [(index, value) for _, index, value, _ in results] == [(0, "a"), (1, "A"), (1, "b")]
    assert sorted(count for _, _, value, count in results if value in "aA") == [1, 2]


def test_streams_of_which_one_is_keyed_have_no_keyed_state(env: StreamExecutionEnvironment) -> None:
    first, second = env.from_collection(["a"]).key_by(str), env.from_collection(["b"])
    node = first.connect(second).transform("own", None, labelled).get_transformation()
    assert isinstance(node, OperatorTransformation) and node.key_selectors is None


@pytest.mark.parametrize("keyed", [False, True])
def test_with_a_broadcast_stream_the_broadcast_one_is_the_first_input(
    env: StreamExecutionEnvironment, keyed: bool
) -> None:
    items = env.from_collection(["x", "y"])
    rules = env.from_collection(["rule"]).broadcast(RULES)
    connected = (items.key_by(str) if keyed else items).connect(rules)
    results = collected(connected.transform("own", None, labelled))
    assert [each for each in results if each[1] == 0] == [("own", 0, "rule")] * 2
    assert [each[2:] for each in results if each[1] == 1] == ([("x", 1), ("y", 1)] if keyed else [("x",), ("y",)])


def test_on_any_number_of_streams(env: StreamExecutionEnvironment) -> None:
    streams = [env.from_collection([letter]) for letter in "abcd"]
    results = collected(MultipleConnectedStreams(*streams).transform("own", None, labelled))
    assert results == [("own", index, letter) for index, letter in enumerate("abcd")]


def test_any_number_of_keyed_streams_share_the_state_of_a_key(env: StreamExecutionEnvironment) -> None:
    streams = [env.from_collection(["k"]).key_by(str) for _ in range(3)]
    hints = env.from_collection(["hint"]).broadcast()
    results = collected(MultipleConnectedStreams(*streams, hints).transform("own", None, labelled))
    assert sorted(each[3] for each in results if each[1] < 3) == [1, 2, 3]
    assert [each for each in results if each[1] == 3] == [("own", 3, "hint")] * 2


def test_keyed_streams_and_others_do_not_mix(env: StreamExecutionEnvironment) -> None:
    keyed, plain = env.from_collection([1]).key_by(str), env.from_collection([2])
    with pytest.raises(ProgramError, match=r"'mixed'.*Key all of them, or broadcast"):
        MultipleConnectedStreams(keyed, plain).transform("mixed", None, labelled)
    with pytest.raises(ProgramError, match="no stream was given"):
        MultipleConnectedStreams()


def test_streams_of_two_environments_do_not_meet(env: StreamExecutionEnvironment) -> None:
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(ProgramError, match="different environments"):
        MultipleConnectedStreams(env.from_collection([1]), other)


KINDS: dict[str, Callable[[StreamExecutionEnvironment], Any]] = {
    "plain": lambda env: env.from_collection([1]),
    "keyed": lambda env: env.from_collection([1]).key_by(str),
    "connected": lambda env: env.from_collection([1]).connect(env.from_collection([2])),
    "broadcast": lambda env: env.from_collection([1]).connect(env.from_collection([2]).broadcast(RULES)),
    "multiple": lambda env: MultipleConnectedStreams(env.from_collection([1])),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", None, labelled), "operator_name"),
        ((3, None, labelled), "operator_name"),
        (("own", "text", labelled), "output_type"),
        (("own", None, Labelled("x")), "operator_factory"),
    ],
)
def test_wrong_arguments_are_named(
    env: StreamExecutionEnvironment, kind: Callable[..., Any], arguments: Any, message: str
) -> None:
    with pytest.raises(FiresteelError, match=f"transform.*{message}"):
        kind(env).transform(*arguments)


def test_a_failure_names_operator_record_and_line(env: StreamExecutionEnvironment) -> None:
    failing = env.from_collection([5, 3]).transform("divider", None, Failing)
    with pytest.raises(JobFailedError, match="divider") as failed, failing.execute_and_collect() as results:
        list(results)
    message = str(failed.value)
    assert "ZeroDivisionError" in message and __file__ in message and "record:   3" in message


def test_an_operator_with_too_few_inputs_fails_with_its_name(env: StreamExecutionEnvironment) -> None:
    connected = env.from_collection([1]).connect(env.from_collection([2]))
    stream = connected.transform("half", None, Failing)
    with pytest.raises(JobFailedError, match="Failing has one input only"), stream.execute_and_collect() as results:
        list(results)
