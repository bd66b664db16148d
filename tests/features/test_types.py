"""Types: what flows through shuffles, state and side outputs, declared or not."""

from __future__ import annotations

import logging
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest

from firesteel.common import Types, TypeSerializer
from firesteel.common.tuples import Tuple0, Tuple2, Tuple25
from firesteel.common.type_extraction import TypeHint
from firesteel.common.typeinfo import PojoTypeInfo, TypeInformation
from firesteel.datastream import KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.errors import JobFailedError, SerializationError
from firesteel.testing import CRASH, EPOCH_CUT, use_clock
from tests.features.connectors import append_lines, read_lines
from tests.features.executors import MakeEnv, collect, on_both
from tests.features.scripts import checkpoint_each_epoch, recovering, scripted

ASIDE = OutputTag("aside")


class ThroughState(KeyedProcessFunction):
    """Emits what was stored for the key before, to the main output and to a side output; then stores the record."""

    def __init__(self, type_info: TypeInformation | None = None) -> None:
        self.type_info = type_info

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("stored", self.type_info))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == "give back":
            yield self.state.value()
            yield ASIDE, self.state.value()
        else:
            self.state.update(value)


def there_and_back(
    env: StreamExecutionEnvironment, *values: Any, type_info: TypeInformation | None = None
) -> list[Any]:
    """The values after two shuffles, a checkpoint, a restore and a side output."""
    recovering(env)
    stored = [(number, value) for number, value in enumerate(values)]
    asked = [(number, "give back") for number in range(len(values))]
    stream = scripted(env, [*stored, EPOCH_CUT, EPOCH_CUT, CRASH, *asked])
    keyed = stream.key_by(lambda pair: pair[0]).map(lambda pair: pair).key_by(lambda pair: pair[0])
    main = keyed.process(Unwrapped(type_info))
    with use_clock(checkpoint_each_epoch()):
        both = collect(main.union(main.get_side_output(ASIDE)).map(lambda pair: pair))
    by_number = sorted(both, key=lambda pair: pair[0])
    assert [pair[0] for pair in by_number] == [number for number in range(len(values)) for _ in range(2)]
    assert [_shape(pair[1]) for pair in by_number[::2]] == [_shape(pair[1]) for pair in by_number[1::2]]
    return [pair[1] for pair in by_number[::2]]


class Unwrapped(ThroughState):
    """Works on (key, value) pairs."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        for result in super().process_element(value[1], ctx):
            if isinstance(result, tuple) and result and result[0] is ASIDE:
                yield ASIDE, (value[0], result[1])
            else:
                yield (value[0], result)


def _shape(value: Any) -> tuple[type, Any]:
    return type(value), getattr(value, "__dict__", value)


BASIC = [
    (Types.STRING(), ["", "a", "Grüße 🚕", "a\x00b"]),
    (Types.LONG(), [0, -(2**63), 2**63 - 1]),
    (Types.INT(), [0, -(2**31), 2**31 - 1]),
    (Types.BOOLEAN(), [True, False]),
    (Types.BASIC_ARRAY(Types.STRING()), [["a", "b"], []]),
    (Types.BASIC_ARRAY(Types.LONG()), [[1, 2, 3]]),
]


@pytest.mark.feature("TY-01")
@pytest.mark.parametrize(("type_info", "values"), BASIC, ids=[str(type_info) for type_info, _ in BASIC])
def test_basic_values_survive_shuffles_and_state(
    make_env: MakeEnv, type_info: TypeInformation, values: list[Any]
) -> None:
    returned = there_and_back(make_env(2), *values, type_info=type_info)
    assert [_shape(value) for value in returned] == [_shape(value) for value in values]


@pytest.mark.feature("TY-01")
@on_both
def test_basic_values_of_all_kinds_survive_together(make_env: MakeEnv) -> None:
    values = [value for _, values in BASIC for value in values]
    assert [_shape(value) for value in there_and_back(make_env(2), *values)] == [_shape(value) for value in values]


@pytest.mark.feature("TY-02")
@on_both
def test_tuples_of_0_2_and_25_fields_survive(make_env: MakeEnv) -> None:
    values = [Tuple0(), Tuple2("a", 1), Tuple25(*range(25))]
    returned = there_and_back(make_env(2), *values)
    assert returned == values
    assert [type(value) for value in returned] == [type(value) for value in values]
    assert (returned[1][0], returned[1].f0, returned[1].f1) == ("a", "a", 1)
    assert (returned[2][0], returned[2].f0, returned[2].f24) == (0, 0, 24)


@dataclass
class Trip:
    name: str = ""
    length: float = 0.0


class Unannotated:
    def __init__(self) -> None:
        self.anything = 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unannotated) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.feature("TY-03")
@on_both
def test_a_dataclass_with_defaults_is_a_pojo(make_env: MakeEnv) -> None:
    type_info = TypeInformation.of(Trip)
    assert isinstance(type_info, PojoTypeInfo)
    assert type_info.get_field_names() == ["name", "length"]
    assert type_info.get_field_types() == [Types.STRING(), Types.DOUBLE()]
    stream = make_env(2).from_collection([Trip("a", 1.0), Trip("b", 2.0), Trip("a", 3.0)], type_info)
    assert sorted(map(str, collect(stream.key_by("name").sum("length")))) == [
        "Trip(name='a', length=1.0)",
        "Trip(name='a', length=4.0)",
        "Trip(name='b', length=2.0)",
    ]


@pytest.mark.feature("TY-03")
def test_a_class_that_breaks_a_rule_is_pickled_and_the_log_says_which_rule(
    make_env: MakeEnv, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="firesteel"):
        type_info = TypeInformation.of(Unannotated())
    assert type_info == Types.PICKLED_BYTE_ARRAY()
    assert "Unannotated is pickled as a whole, it is no POJO" in caplog.text
    assert "rule 4: every field must have a type annotation, but field anything has none" in caplog.text
    assert there_and_back(make_env(2), Unannotated(), type_info=type_info) == [Unannotated()]


class Point(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class Cell:
    row: int
    column: str


@pytest.mark.feature("TY-04")
@on_both
def test_named_tuples_and_frozen_dataclasses_keep_class_and_field_names(make_env: MakeEnv) -> None:
    point, cell = there_and_back(make_env(2), Point(1, 2), Cell(3, "d"))
    assert (type(point), point._fields, point.x, point.y) == (Point, ("x", "y"), 1, 2)
    assert (type(cell), cell.row, cell.column) == (Cell, 3, "d")
    assert TypeInformation.of(Cell).get_field_names() == ["row", "column"]  # type: ignore[attr-defined]


class Ordinary:
    """Neither dataclass nor annotated: an object like any other."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.parts = {"self": label, "list": [1, (2, 3)]}


@pytest.mark.feature("TY-05")
@on_both
def test_an_ordinary_object_passes_shuffle_state_and_side_output_unchanged(make_env: MakeEnv) -> None:
    original = Ordinary("x")
    [returned] = there_and_back(make_env(2), original)
    assert type(returned) is Ordinary
    assert vars(returned) == vars(original)


@dataclass
class Measured:
    value: float


class MeasuredSerializer(TypeSerializer[Measured]):
    """Eight bytes. Notes every call in a file, wherever it is made."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def serialize(self, element: Measured, stream: BinaryIO) -> None:
        append_lines(self.log, ["serialize"])
        stream.write(struct.pack("d", element.value))

    def deserialize(self, stream: BinaryIO) -> Measured:
        append_lines(self.log, ["deserialize"])
        return Measured(*struct.unpack("d", stream.read(8)))


@pytest.mark.feature("TY-06")
@on_both
def test_a_serializer_of_the_users_own_is_called_for_records_and_for_state(make_env: MakeEnv, tmp_path: Path) -> None:
    env = make_env(1)
    env.get_config().register_serializer(Measured, MeasuredSerializer(tmp_path / "calls"))
    assert there_and_back(env, Measured(1.5)) == [Measured(1.5)]
    calls = read_lines(tmp_path / "calls")
    # At least twice each: for the shuffle, and for the checkpoint from which the job went on.
    assert calls.count("serialize") >= 2
    assert calls.count("deserialize") >= 2


@pytest.mark.feature("TY-07")
@pytest.mark.parametrize("declared", [Types.TUPLE([Types.LONG(), Types.LONG()]), TypeHint(tuple[int, int])])
def test_a_value_that_does_not_fit_the_type_of_its_state_is_refused(
    env: StreamExecutionEnvironment, declared: Any
) -> None:
    type_info = TypeInformation.of(declared)
    stream = env.from_collection([(1, 2), "text"]).key_by(lambda _: "k").process(ThroughState(type_info))
    with pytest.raises(JobFailedError, match=r"state 'stored' must fit its type TupleTypeInfo\(Long, Long\).*str"):
        collect(stream)


class TypedCollections(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        if isinstance(value, tuple):
            self.map.put(*value)
        else:
            self.list.add(value)


@pytest.mark.feature("TY-07")
@pytest.mark.parametrize(
    ("value", "message"),
    [("text", "an element of state 'list'"), ((1, 1), "a key of state 'map'"), (("a", "b"), "a value of state 'map'")],
)
def test_elements_keys_and_values_that_do_not_fit_are_refused(
    env: StreamExecutionEnvironment, value: Any, message: str
) -> None:
    with pytest.raises(JobFailedError, match=message):
        collect(env.from_collection([value]).key_by(lambda _: "k").process(TypedCollections()))


@pytest.mark.feature("TY-07")
def test_a_value_that_does_not_fit_the_declared_type_of_a_stream_is_refused(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(TypeError, match=r"from_collection: element 1.*Long"):
        env.from_collection([1, "two"], Types.LONG())


@pytest.mark.feature("TY-08")
@on_both
def test_a_closure_with_a_lock_fails_before_any_task_starts_and_is_named(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    guard = threading.Lock()
    touched = tmp_path / "touched"

    def touch(value: int) -> int:
        touched.touch()
        return value

    def count_under_lock(value: int) -> int:
        with guard:
            return value + 1

    env.from_collection([1]).map(touch).map(count_under_lock).print()
    with pytest.raises(SerializationError, match=r"'guard' captured by .*count_under_lock"):
        env.execute()
    assert not touched.exists()
