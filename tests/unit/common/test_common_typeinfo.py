from __future__ import annotations

import datetime
import decimal
import logging
import pickle
from array import array
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, NamedTuple, Optional

import pytest

from firesteel.common import Instant, Row, Tuple, TypeHint, TypeInformation, Types
from firesteel.common.type_extraction import broken_pojo_rule, extract_type
from firesteel.common.typeinfo import LocalTimeTypeInfo, PojoTypeInfo
from firesteel.errors import ConfigurationError, TypeMismatchError

FITS: list[tuple[TypeInformation, Any]] = [
    (Types.STRING(), ""),
    (Types.BYTE(), -128),
    (Types.SHORT(), 32767),
    (Types.INT(), -(2**31)),
    (Types.LONG(), 2**63 - 1),
    (Types.FLOAT(), 1.5),
    (Types.FLOAT(), float("inf")),
    (Types.DOUBLE(), 3),
    (Types.CHAR(), "x"),
    (Types.BOOLEAN(), False),
    (Types.BIG_INT(), 2**100),
    (Types.BIG_DEC(), decimal.Decimal("1.5")),
    (Types.INSTANT(), Instant(1, 2)),
    (Types.SQL_DATE(), datetime.date(2020, 1, 1)),
    (Types.SQL_TIME(), datetime.time(1)),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1)),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), datetime.datetime(2020, 1, 1)),
    (Types.PICKLED_BYTE_ARRAY(), object()),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"abc"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), array("i", [1, 2])),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None]),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), [datetime.date(2020, 1, 1)]),
    (Types.LIST(Types.LONG()), [1, 2]),
    (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1, "b": None}),
    (Types.TUPLE([Types.LONG(), Types.STRING()]), (1, "x")),
    (Types.TUPLE([]), Tuple.of()),
    (Types.ROW([Types.LONG(), Types.STRING()]), Row(1, None)),
    (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), Row(b="x", a=1)),
    (Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()]), {"a": 1}),
]

MISFITS: list[tuple[TypeInformation, Any, str]] = [
    (Types.STRING(), 1, "expected String, got 1 (int)"),
    (Types.STRING(), None, "expected String, got None (NoneType)"),
    (Types.BYTE(), 128, "expected Byte, got 128 (int)"),
    (Types.LONG(), 2**63, "expected Long, got 9223372036854775808 (int)"),
    (Types.LONG(), True, "expected Long, got True (bool)"),
    (Types.LONG(), 1.0, "expected Long, got 1.0 (float)"),
    (Types.FLOAT(), 1e300, "expected Float, got 1e+300 (float)"),
    (Types.CHAR(), "xy", "expected Char, got 'xy' (str)"),
    (Types.SQL_DATE(), datetime.datetime(2020, 1, 1), "expected DateTypeInfo"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None], "[1]: expected Integer, got None"),
    (Types.LIST(Types.LONG()), "ab", "expected ListTypeInfo<Long>, got 'ab' (str)"),
    (Types.LIST(Types.LIST(Types.LONG())), [[1], [2, "x"]], "[1][1]: expected Long, got 'x'"),
    (Types.MAP(Types.STRING(), Types.LONG()), {"a": "x"}, "['a']: expected Long, got 'x'"),
    (Types.MAP(Types.STRING(), Types.LONG()), {1: 1}, "key 1: expected String, got 1"),
    (Types.TUPLE([Types.LONG(), Types.LONG()]), (1, "two"), "f1: expected Long, got 'two' (str)"),
    (Types.TUPLE([Types.LONG()]), (1, 2), "expected TupleTypeInfo(Long), got (1, 2)"),
    (Types.TUPLE([Types.LONG()]), (None,), "f0: expected Long, got None"),
    (Types.ROW_NAMED(["p"], [Types.TUPLE([Types.LONG()])]), Row(p=("x",)), "p.f0: expected Long"),
    (Types.ROW_NAMED(["a"], [Types.LONG()]), Row(b=1), "expected RowTypeInfo(a: Long), got Row(b=1)"),
    (Types.ROW_NAMED(["a"], [Types.LONG()]), {"a": 1, "z": 2}, "expected RowTypeInfo"),
    (Types.ROW([Types.LONG()]), 5, "expected RowTypeInfo(Long), got 5 (int)"),
]


def _short(value: Any) -> str:
    """A name for a test case, the same in every process."""
    return str(value).partition(" at 0x")[0][:40]


@pytest.mark.parametrize(("declared", "value"), FITS, ids=_short)
def test_fitting_values_fit(declared: TypeInformation, value: Any) -> None:
    assert declared.check(value) is None


@pytest.mark.parametrize(("declared", "value", "reason"), MISFITS, ids=_short)
def test_a_misfit_names_place_type_and_value(declared: TypeInformation, value: Any, reason: str) -> None:
    assert (declared.check(value) or "").startswith(reason)


def test_ensure_raises_naming_who_and_what() -> None:
    with pytest.raises(
        TypeMismatchError, match=r"state 'sum' is declared as TupleTypeInfo\(Long, Long\): f1: expected"
    ):
        Types.TUPLE([Types.LONG(), Types.LONG()]).ensure((1, "x"), "state 'sum'")
    assert Types.LONG().ensure(5, "state 'sum'") is None  # type: ignore[func-returns-value]


def test_long_values_are_shortened_in_messages() -> None:
    assert len(Types.LONG().check("x" * 10_000) or "") < 150


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (Types.ROW([Types.INT(), Types.STRING()]), "RowTypeInfo(Integer, String)"),
        (Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.BIG_DEC()]), "RowTypeInfo(a: String, b: BigDecimal)"),
        (Types.TUPLE([Types.STRING(), Types.INT()]), "TupleTypeInfo(String, Integer)"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
        (Types.BASIC_ARRAY(Types.INT()), "BasicArrayTypeInfo<Integer>"),
        (Types.OBJECT_ARRAY(Types.INT()), "ObjectArrayTypeInfo<Integer>"),
        (Types.LIST(Types.CHAR()), "ListTypeInfo<Char>"),
        (Types.MAP(Types.INT(), Types.STRING()), "MapTypeInfo<Integer, String>"),
        (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
        (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    ],
)
def test_types_print_as_in_pyflink(declared: TypeInformation, text: str) -> None:
    assert str(declared) == text


def test_types_compare_by_what_they_hold() -> None:
    assert Types.LIST(Types.INT()) == Types.LIST(Types.INT()) != Types.LIST(Types.LONG())
    assert Types.OBJECT_ARRAY(Types.INT()) != Types.BASIC_ARRAY(Types.INT())
    assert Types.ROW([Types.INT()]) == Types.ROW_NAMED(["a"], [Types.INT()])
    assert len({Types.INT(), Types.INT(), Types.LONG()}) == 2


@pytest.mark.parametrize("declared", [declared for declared, _ in FITS], ids=str)
def test_types_survive_pickling(declared: TypeInformation) -> None:
    twin = pickle.loads(pickle.dumps(declared))
    assert twin == declared and str(twin) == str(declared)


def test_row_types_know_their_fields() -> None:
    row_type = Types.ROW([Types.INT(), Types.STRING()])
    assert row_type.get_field_names() == ["f0", "f1"]
    assert row_type.get_field_types() == [Types.INT(), Types.STRING()]
    assert (row_type.get_field_index("f1"), row_type.get_field_index("x")) == (1, -1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()]),
        lambda: Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()]),
        lambda: Types.PRIMITIVE_ARRAY(Types.STRING()),
        lambda: Types.BASIC_ARRAY(Types.SQL_DATE()),
        lambda: Types.TUPLE([Types.INT()] * 26),
    ],
)
def test_impossible_types_are_refused(make: Callable[[], TypeInformation]) -> None:
    with pytest.raises(ConfigurationError):
        make()


# --- extraction ----------------------------------------------------------------------------------


@dataclass
class Person:
    name: str = ""
    age: int = 0
    tags: list[str] = field(default_factory=list)
    kind: ClassVar[str] = "human"


@dataclass
class NeedsArguments:
    name: str


@dataclass(frozen=True)
class Point:
    x: float
    y: float


class Ride(NamedTuple):
    driver: str
    tip: Optional[float]  # noqa: UP045


Pair = namedtuple("Pair", "left right")


class Plain:
    name: str = ""
    size: int = 0


class WithAccessors:
    _name: str = ""

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value


class WithPrivateField:
    _secret: str = ""


class WithoutAnnotations:
    def __init__(self) -> None:
        self.name = "x"


@dataclass
class _Hidden:
    name: str = ""


@dataclass
class Tree:
    value: int = 0
    children: list[Tree] = field(default_factory=list)


@dataclass
class Dangling:
    name: str = ""
    home: Nowhere = None  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Owner:
    pet: Dangling | None = None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (bool, Types.BOOLEAN()),
        (5, Types.LONG()),
        (2**70, Types.BIG_INT()),
        (b"x", Types.PRIMITIVE_ARRAY(Types.BYTE())),
        (datetime.datetime(2020, 1, 1), Types.SQL_TIMESTAMP()),
        (datetime.date, Types.SQL_DATE()),
        (Any, Types.PICKLED_BYTE_ARRAY()),
        (int | None, Types.LONG()),
        (int | str, Types.PICKLED_BYTE_ARRAY()),
        (Annotated[int, "seconds"], Types.LONG()),
        (list[int], Types.LIST(Types.LONG())),
        (dict[str, list[float]], Types.MAP(Types.STRING(), Types.LIST(Types.DOUBLE()))),
        (tuple[int, str], Types.TUPLE([Types.LONG(), Types.STRING()])),
        (tuple[int, ...], Types.OBJECT_ARRAY(Types.LONG())),
        ((1, "x"), Types.TUPLE([Types.LONG(), Types.STRING()])),
        ([1, None, 2], Types.LIST(Types.LONG())),
        ([1, "x"], Types.LIST(Types.PICKLED_BYTE_ARRAY())),
        ({"a": 1}, Types.MAP(Types.STRING(), Types.LONG())),
        (object(), Types.PICKLED_BYTE_ARRAY()),
        (None, Types.PICKLED_BYTE_ARRAY()),
        (tuple(range(26)), Types.PICKLED_BYTE_ARRAY()),
        (Types.INT(), Types.INT()),
        (TypeHint(list[int]), Types.LIST(Types.LONG())),
    ],
    ids=_short,
)
def test_types_are_found(given: Any, expected: TypeInformation) -> None:
    assert extract_type(given) == expected
    assert TypeInformation.of(given) == expected


def test_rows_are_found_with_their_names() -> None:
    assert str(extract_type(Row(word="to", count=1))) == "RowTypeInfo(word: String, count: Long)"
    assert str(extract_type(Row("to", 1))) == "RowTypeInfo(String, Long)"


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (Person, ["name", "age", "tags"]),
        (Person(), ["name", "age", "tags"]),
        (Point(1, 2), ["x", "y"]),
        (Ride("d", None), ["driver", "tip"]),
        (Plain, ["name", "size"]),
        (WithAccessors, ["_name"]),
        (Pair(1, 2), ["left", "right"]),
    ],
    ids=str,
)
def test_classes_that_keep_the_rules_are_known_by_field(given: Any, names: list[str]) -> None:
    found = extract_type(given)
    assert isinstance(found, PojoTypeInfo)
    assert found.get_field_names() == names


def test_pojo_fields_have_types_and_are_checked() -> None:
    person = extract_type(Person)
    assert str(person).endswith("Person, fields = [name: String, age: Long, tags: ListTypeInfo<String>]>")
    assert person.check(Person("a", 1, ["x"])) is None
    assert person.check(Person("a", 1, [5])) == "tags[0]: expected String, got 5 (int)"  # type: ignore[list-item]
    assert (person.check("a") or "").startswith("expected PojoType<")


def test_a_class_that_refers_to_itself_is_found() -> None:
    tree = extract_type(Tree)
    assert tree.check(Tree(1, [Tree(2)])) is None
    assert str(tree).endswith("children: ListTypeInfo<PickledByteArrayTypeInfo>]>")


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (_Hidden, "rule 1"),
        (NeedsArguments("x"), "rule 2: the class must be made without arguments, but it needs name"),
        (WithPrivateField, "rule 3: field _secret"),
        (WithoutAnnotations(), "rule 4: every field must have a type annotation, but field name has none"),
        (WithoutAnnotations, "rule 4"),
    ],
    ids=_short,
)
def test_a_class_that_breaks_a_rule_is_pickled_and_the_log_says_which(
    given: Any, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="firesteel"):
        assert extract_type(given) == Types.PICKLED_BYTE_ARRAY()
    assert rule in caplog.text


def test_rules_can_be_asked_for() -> None:
    assert broken_pojo_rule(Person) is None
    assert (broken_pojo_rule(NeedsArguments) or "").startswith("rule 2")


def test_an_annotation_that_cannot_be_resolved_is_named_with_its_path() -> None:
    with pytest.raises(ConfigurationError, match=r"Owner\.pet\.home cannot be resolved"):
        extract_type(Owner)
