"""How much words say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.ml.common.param import HasInputCol, HasOutputCol
from firesteel.ml.mllib import SparkEstimator, SparkModel, java_array, new_java, numbers, old_vector
from firesteel.ml.param import IntParam, Param, ParamValidators

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["IDF", "IDFModel"]


class _Params(HasInputCol, HasOutputCol):
    """Parameters of :class:`IDF`."""

    MIN_DOC_FREQ: Param[int] = IntParam(
        "min_doc_freq", "Words in fewer documents count nothing.", 0, ParamValidators.gt_eq(0)
    )

    def set_min_doc_freq(self, value: int) -> Self:
        """Words in fewer documents count nothing."""
        return self.set(self.MIN_DOC_FREQ, value)

    def get_min_doc_freq(self) -> int:
        """Words in fewer documents count nothing."""
        return self.get(self.MIN_DOC_FREQ)

    @property
    def min_doc_freq(self) -> int:
        """Words in fewer documents count nothing."""
        return self.get(self.MIN_DOC_FREQ)


class IDFModel(SparkModel, HasInputCol, HasOutputCol):
    """Weighs the counts of words by what :class:`IDF` has learned."""

    spark_class = "feature.IDFModel"
    model_fields = {"idf": "array<double>", "doc_freq": "array<bigint>", "num_docs": "bigint"}

    def java_arguments(self) -> tuple[Any, ...]:
        learned = self.learned
        counts = java_array(learned["doc_freq"], "long")
        model = "org.apache.spark.mllib.feature.IDFModel"
        return (new_java(model, old_vector(learned["idf"]), counts, learned["num_docs"]),)


class IDF(SparkEstimator, _Params):
    """Learns in how many documents each word occurs: the more, the less it says."""

    spark_class = "feature.IDF"
    model_class = IDFModel

    def read(self, fitted: Any) -> dict[str, Any]:
        return {
            "idf": numbers(fitted.idf),
            "doc_freq": [int(count) for count in fitted.docFreq],
            "num_docs": int(fitted.numDocs),
        }
