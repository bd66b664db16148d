"""Texts as numbers, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.api import Table
from firesteel.ml.common.param import HasHandleInvalid, HasInputCols, HasOutputCols
from firesteel.ml.mllib import SparkEstimator, SparkModel, java_array, one_table, session, spark_class, spark_errors
from firesteel.ml.param import Param, ParamValidators, StringParam

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["IndexToStringModel", "StringIndexer", "StringIndexerModel"]


class _Params(HasInputCols, HasOutputCols, HasHandleInvalid):
    """Parameters of :class:`StringIndexer`."""

    STRING_ORDER_TYPE: Param[str] = StringParam(
        "string_order_type",
        "In which order texts are numbered.",
        "arbitrary",
        ParamValidators.in_array(["arbitrary", "frequencyDesc", "frequencyAsc", "alphabetDesc", "alphabetAsc"]),
    )

    def set_string_order_type(self, value: str) -> Self:
        """In which order texts are numbered."""
        return self.set(self.STRING_ORDER_TYPE, value)

    def get_string_order_type(self) -> str:
        """In which order texts are numbered."""
        return self.get(self.STRING_ORDER_TYPE)

    @property
    def string_order_type(self) -> str:
        """In which order texts are numbered."""
        return self.get(self.STRING_ORDER_TYPE)


class StringIndexerModel(SparkModel, HasInputCols, HasOutputCols, HasHandleInvalid):
    """Replaces texts by the numbers that :class:`StringIndexer` has given them.

    ``handle_invalid`` is about texts that have none: ``keep`` gives all of them the next number.
    """

    spark_class = "feature.StringIndexerModel"
    model_fields = {"strings": "array<array<string>>"}

    def java_arguments(self) -> tuple[Any, ...]:
        texts = "java.lang.String"
        columns = [java_array(column, texts) for column in self.learned["strings"]]
        gateway = session().sparkContext._gateway
        width = max([len(column) for column in columns], default=0)
        array = gateway.new_array(gateway.jvm.java.lang.String, len(columns), width)
        for at, column in enumerate(columns):
            array[at] = column
        return (array,)


class StringIndexer(SparkEstimator, _Params):
    """Numbers the texts of columns, the most frequent first unless another order is asked for.

    Numbers and booleans are taken as the texts they print as.
    """

    spark_class = "feature.StringIndexer"
    spark_values = {"string_order_type": {"arbitrary": "frequencyDesc"}}
    model_class = StringIndexerModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {"strings": [list(column) for column in fitted.labelsArray]}


class IndexToStringModel(SparkModel, HasInputCols, HasOutputCols):
    """The way back: replaces numbers by the texts that a :class:`StringIndexer` has numbered.

    Give it the model data of the :class:`StringIndexerModel`.
    """

    model_fields = {"strings": "array<array<string>>"}

    def transform(self, *inputs: Table) -> list[Table]:
        table = one_table(self, inputs)
        columns = list(zip(self.input_cols, self.output_cols, self.learned["strings"], strict=True))
        with spark_errors(self):
            for source, target, strings in columns:
                step = spark_class("feature.IndexToString")(inputCol=source, outputCol=target, labels=strings)
                table = step.transform(table)
        return [table]
