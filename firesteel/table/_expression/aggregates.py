"""Aggregates, order, names and conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table._expression.base import ExpressionBase, symbol
from firesteel.table.tree import Apply

if TYPE_CHECKING:
    from firesteel.table.expression import Expression

__all__ = ["AggregateExpressions"]


class AggregateExpressions(ExpressionBase):
    """Aggregates; comparisons with more than an operator; names."""

    @property
    def avg(self) -> Expression:
        """Aggregate: the average."""
        return self._apply("AVG")

    @property
    def count(self) -> Expression:
        """Aggregate: how many values are not NULL."""
        return self._apply("COUNT")

    @property
    def max(self) -> Expression:
        """Aggregate: the largest value."""
        return self._apply("MAX")

    @property
    def min(self) -> Expression:
        """Aggregate: the smallest value."""
        return self._apply("MIN")

    @property
    def sum(self) -> Expression:
        """Aggregate: the sum; NULL of nothing."""
        return self._apply("SUM")

    @property
    def sum0(self) -> Expression:
        """Aggregate: the sum; 0 of nothing."""
        return self._apply("SUM0")

    @property
    def stddev_pop(self) -> Expression:
        """Aggregate: the standard deviation of all."""
        return self._apply("STDDEV_POP")

    @property
    def stddev_samp(self) -> Expression:
        """Aggregate: the standard deviation of a sample."""
        return self._apply("STDDEV_SAMP")

    @property
    def var_pop(self) -> Expression:
        """Aggregate: the variance of all."""
        return self._apply("VAR_POP")

    @property
    def var_samp(self) -> Expression:
        """Aggregate: the variance of a sample."""
        return self._apply("VAR_SAMP")

    @property
    def collect(self) -> Expression:
        """Aggregate: all values as a multiset."""
        return self._apply("COLLECT")

    @property
    def array_agg(self) -> Expression:
        """Aggregate: all values as an array."""
        return self._apply("ARRAY_AGG")

    @property
    def first_value(self) -> Expression:
        """Aggregate: the first value."""
        return self._apply("FIRST_VALUE")

    @property
    def last_value(self) -> Expression:
        """Aggregate: the last value."""
        return self._apply("LAST_VALUE")

    @property
    def distinct(self) -> Expression:
        """The aggregate over each value once."""
        return self._apply("DISTINCT")

    @property
    def asc(self) -> Expression:
        """Upwards, in ORDER BY."""
        return self._apply("ASC")

    @property
    def desc(self) -> Expression:
        """Downwards, in ORDER BY."""
        return self._apply("DESC")

    @property
    def is_null(self) -> Expression:
        """Whether it is NULL."""
        return self._apply("IS NULL")

    @property
    def is_not_null(self) -> Expression:
        """Whether it is not NULL."""
        return self._apply("IS NOT NULL")

    @property
    def is_true(self) -> Expression:
        """Whether it is true; unknown is not."""
        return self._apply("IS TRUE")

    @property
    def is_false(self) -> Expression:
        """Whether it is false; unknown is not."""
        return self._apply("IS FALSE")

    @property
    def is_not_true(self) -> Expression:
        """Whether it is false or unknown."""
        return self._apply("IS NOT TRUE")

    @property
    def is_not_false(self) -> Expression:
        """Whether it is true or unknown."""
        return self._apply("IS NOT FALSE")

    def list_agg(self, separator: Any = None) -> Expression:
        """Aggregate: all values as one text, with a separator between them."""
        return self._apply_given("LISTAGG", separator)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression:
        """Aggregate: the value below which a part of all values lies."""
        return self._apply_given("PERCENTILE", percentage, frequency)

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether it lies between two values, or is one of them."""
        return self._apply("BETWEEN", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether it lies outside of two values."""
        return self._apply("NOT BETWEEN", lower_bound, upper_bound)

    def if_null(self, null_replacement: Any) -> Expression:
        """The value, or another where it is NULL."""
        return self._apply("IFNULL", null_replacement)

    def then(self, if_true: Any, if_false: Any) -> Expression:
        """One value where this is true, another where not."""
        return self._apply("IF", if_true, if_false)

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression:
        """Whether the value is one of those given, or in the only column of a table."""
        return self._apply("IN", first_element_or_table, *remaining_elements)

    def alias(self, name: str, *extra_names: str) -> Expression:
        """The expression under a name; under several where it stands for several columns."""
        return self._new(Apply("AS", (self.node, *(symbol(each) for each in (name, *extra_names)))))

    def as_argument(self, name: str) -> Expression:
        """The expression as the argument of a name, in a call with names."""
        return self._new(Apply("ASSIGNMENT", (symbol(name), self.node)))

    def over(self, alias: Any) -> Expression:
        """The aggregate over the window of a name."""
        return self._apply("OVER", alias)
