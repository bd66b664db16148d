"""Parameters of stages: what can be set, what is refused, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.warnings import FiresteelWarning
from firesteel.errors import ConfigurationError, TypeMismatchError
from firesteel.ml import AlgoOperator, ParamValidator, ParamValidators
from firesteel.ml.classification import LogisticRegression
from firesteel.ml.feature import Bucketizer, MinMaxScaler, RobustScaler, StandardScaler, VectorAssembler
from firesteel.ml.param import (
    BooleanParam,
    FloatArrayArrayParam,
    FloatArrayParam,
    FloatParam,
    IntArrayParam,
    IntParam,
    Param,
    StringArrayParam,
    StringParam,
)


class Even(ParamValidator[int]):
    def validate(self, value: Any) -> bool:
        return value is not None and value % 2 == 0


class Sample(AlgoOperator):
    FLAG = BooleanParam("flag", "a flag", False)
    COUNT = IntParam("count", "a count", 2, Even())
    RATE = FloatParam("rate", "a rate", 0.5, ParamValidators.in_range(0, 1, upper_inclusive=False))
    NAME = StringParam("name", "a name", None, ParamValidators.not_null())
    COUNTS = IntArrayParam("counts", "counts", (1,))
    RATES = FloatArrayParam("rates", "rates", [1])
    GRID = FloatArrayArrayParam("grid", "a grid", None)
    NAMES = StringArrayParam("names", "names", None, ParamValidators.non_empty_array())

    def transform(self, *inputs: Any) -> list[Any]:
        return list(inputs)


def test_defaults_hold_until_a_value_is_set() -> None:
    sample = Sample()
    assert (sample.get(Sample.COUNT), sample.get(Sample.COUNTS), sample.get(Sample.GRID)) == (2, (1,), None)
    assert sample.set(Sample.COUNT, 4) is sample
    assert (sample.get(Sample.COUNT), Sample().get(Sample.COUNT)) == (4, 2)
    assert sample.get_param("count") == Sample.COUNT
    assert sample.get_param("nothing") is None
    assert repr(sample) == "Sample(count=4)"


@pytest.mark.parametrize(
    ("param", "value", "kept"),
    [
        (Sample.RATE, 0, 0.0),
        (Sample.COUNTS, [1, 2], (1, 2)),
        (Sample.RATES, range(2), (0.0, 1.0)),
        (Sample.GRID, [[1], (2, 3.5)], ((1.0,), (2.0, 3.5))),
        (Sample.NAMES, ["a"], ("a",)),
    ],
)
def test_values_are_kept_in_the_type_of_the_parameter_and_survive_json(
    param: Param[Any], value: Any, kept: Any
) -> None:
    sample = Sample().set(param, value)
    assert sample.get(param) == kept
    assert [type(each) for each in (sample.get(param), kept)] == [type(kept)] * 2
    assert param.json_decode(param.json_encode(kept)) == kept


@pytest.mark.parametrize(
    ("param", "value"),
    [
        (Sample.FLAG, 1),
        (Sample.COUNT, 1.0),
        (Sample.COUNT, True),
        (Sample.RATE, "0.5"),
        (Sample.RATE, True),
        (Sample.NAME, b"x"),
        (Sample.NAMES, "names"),
        (Sample.COUNTS, [1.5]),
        (Sample.GRID, [1.0]),
        (Sample.COUNTS, 3),
    ],
)
def test_a_value_of_another_type_is_refused(param: Param[Any], value: Any) -> None:
    with pytest.raises(TypeMismatchError, match=rf"Sample: parameter '{param.name}' takes {param.type_name}, got"):
        Sample().set(param, value)


@pytest.mark.parametrize(
    ("validator", "valid", "invalid"),
    [
        (ParamValidators.gt(1), [2], [1, None]),
        (ParamValidators.gt_eq(1), [1], [0, None]),
        (ParamValidators.lt(1), [0], [1, None]),
        (ParamValidators.lt_eq(1), [1], [2, None]),
        (ParamValidators.in_range(0, 1), [0, 1], [-1, 2, None]),
        (ParamValidators.in_range(0, 1, False, False), [0.5], [0, 1]),
        (ParamValidators.in_array(["a"]), ["a"], ["b", None]),
        (ParamValidators.is_sub_set(["a", "b"]), [["a"], []], [["c"], None]),
        (ParamValidators.not_null(), [0, ""], [None]),
        (ParamValidators.non_empty_array(), [(1,)], [(), None]),
        (ParamValidators.always_true(), [None, 1], []),
        (ParamValidators.gt(0), [float("inf")], [float("nan")]),
    ],
)
def test_validators(validator: ParamValidator[Any], valid: list[Any], invalid: list[Any]) -> None:
    assert [validator.validate(value) for value in valid] == [True] * len(valid)
    assert [validator.validate(value) for value in invalid] == [False] * len(invalid)


def test_an_invalid_value_is_refused_and_the_message_says_what_is_valid() -> None:
    with pytest.raises(ConfigurationError, match=r"Sample: parameter 'rate' .* takes a value in \[0, 1\), got 1.0"):
        Sample().set(Sample.RATE, 1.0)
    with pytest.raises(ConfigurationError, match="a value that Even accepts, got 3"):
        Sample().set(Sample.COUNT, 3)
    with pytest.raises(ConfigurationError, match="one of 'auto', 'binomial', 'multinomial', got 'many'"):
        LogisticRegression().set_multi_class("many")
    with pytest.raises(ConfigurationError, match=r"in \(0.0, 1.0\), got 1"):
        RobustScaler().set_upper(1)
    for splits in ([], [[1, 2]], [[1, 2, 2]]):
        with pytest.raises(ConfigurationError, match="at least three bounds for each column"):
            Bucketizer().set_splits_array(splits)
    with pytest.raises(ConfigurationError, match="parameter 'odd'"):
        IntParam("odd", "not even", 3, Even())


def test_a_parameter_without_value_says_how_to_set_it() -> None:
    with pytest.raises(ConfigurationError, match=r"Sample: parameter 'name' \(a name\) is not set. Call set_name"):
        Sample().get(Sample.NAME)
    with pytest.raises(ConfigurationError, match="Call set_input_cols"):
        VectorAssembler().get_input_cols()


def test_a_parameter_of_another_stage_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"StandardScaler has no parameter 'rate'. It has: input_col, output_col"
    ):
        StandardScaler().set(Sample.RATE, 0.5)


def test_setters_getters_and_properties_agree() -> None:
    scaler = MinMaxScaler().set_input_col("a").set_min(-2).set_max(3)
    assert (scaler.get_min(), scaler.max, scaler.get_input_col(), scaler.output_col) == (-2.0, 3.0, "a", "output")
    bucketizer = Bucketizer().set_input_cols("a", "b").set_splits_array([[0, 1, 2], [2, 3, 4]])
    assert bucketizer.input_cols == ("a", "b")
    assert bucketizer.get_splits_array() == ((0.0, 1.0, 2.0), (2.0, 3.0, 4.0))


def test_settings_of_flinks_optimizer_warn_that_they_have_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.common.warnings._given", set())
    with pytest.warns(FiresteelWarning, match=r"LogisticRegression.set_learning_rate\(0.1\) has no effect"):
        LogisticRegression().set_learning_rate(0.1).set_max_iter(3)
