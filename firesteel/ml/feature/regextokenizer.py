"""Words of a text, by a regular expression."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.ml.common.param import HasInputCol, HasOutputCol
from firesteel.ml.mllib import SparkTransformer
from firesteel.ml.param import BooleanParam, IntParam, Param, ParamValidators, StringParam

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RegexTokenizer"]


class _Params(HasInputCol, HasOutputCol):
    """Parameters of :class:`RegexTokenizer`."""

    PATTERN: Param[str] = StringParam(
        "pattern", "The regular expression, as Java writes them.", "\\s+", ParamValidators.not_null()
    )

    def set_pattern(self, value: str) -> Self:
        """The regular expression, as Java writes them."""
        return self.set(self.PATTERN, value)

    def get_pattern(self) -> str:
        """The regular expression, as Java writes them."""
        return self.get(self.PATTERN)

    @property
    def pattern(self) -> str:
        """The regular expression, as Java writes them."""
        return self.get(self.PATTERN)

    GAPS: Param[bool] = BooleanParam(
        "gaps", "Whether the expression matches what is between the words, or the words.", True
    )

    def set_gaps(self, value: bool) -> Self:
        """Whether the expression matches what is between the words, or the words."""
        return self.set(self.GAPS, value)

    def get_gaps(self) -> bool:
        """Whether the expression matches what is between the words, or the words."""
        return self.get(self.GAPS)

    @property
    def gaps(self) -> bool:
        """Whether the expression matches what is between the words, or the words."""
        return self.get(self.GAPS)

    MIN_TOKEN_LENGTH: Param[int] = IntParam(
        "min_token_length", "Words that are shorter are left out.", 1, ParamValidators.gt_eq(0)
    )

    def set_min_token_length(self, value: int) -> Self:
        """Words that are shorter are left out."""
        return self.set(self.MIN_TOKEN_LENGTH, value)

    def get_min_token_length(self) -> int:
        """Words that are shorter are left out."""
        return self.get(self.MIN_TOKEN_LENGTH)

    @property
    def min_token_length(self) -> int:
        """Words that are shorter are left out."""
        return self.get(self.MIN_TOKEN_LENGTH)

    TO_LOWERCASE: Param[bool] = BooleanParam("to_lowercase", "Whether the text is made lower case first.", True)

    def set_to_lowercase(self, value: bool) -> Self:
        """Whether the text is made lower case first."""
        return self.set(self.TO_LOWERCASE, value)

    def get_to_lowercase(self) -> bool:
        """Whether the text is made lower case first."""
        return self.get(self.TO_LOWERCASE)

    @property
    def to_lowercase(self) -> bool:
        """Whether the text is made lower case first."""
        return self.get(self.TO_LOWERCASE)


class RegexTokenizer(SparkTransformer, _Params):
    """Splits a text into its words, which a regular expression describes, or what is between them."""

    spark_class = "feature.RegexTokenizer"
