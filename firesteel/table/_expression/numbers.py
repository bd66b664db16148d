"""Methods of expressions that are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table._expression.base import ExpressionBase, node_of, unit_of
from firesteel.table.tree import Apply

if TYPE_CHECKING:
    from firesteel.table.expression import Expression

__all__ = ["NumberExpressions"]


class NumberExpressions(ExpressionBase):
    """Functions of numbers."""

    @property
    def abs(self) -> Expression:
        """The number without its sign."""
        return self._apply("ABS")

    @property
    def exp(self) -> Expression:
        """e to the power of this."""
        return self._apply("EXP")

    @property
    def log10(self) -> Expression:
        """The logarithm to base 10."""
        return self._apply("LOG10")

    @property
    def log2(self) -> Expression:
        """The logarithm to base 2."""
        return self._apply("LOG2")

    @property
    def ln(self) -> Expression:
        """The natural logarithm."""
        return self._apply("LN")

    @property
    def sqrt(self) -> Expression:
        """The square root."""
        return self._apply("SQRT")

    @property
    def sin(self) -> Expression:
        """The sine."""
        return self._apply("SIN")

    @property
    def cos(self) -> Expression:
        """The cosine."""
        return self._apply("COS")

    @property
    def sinh(self) -> Expression:
        """The hyperbolic sine."""
        return self._apply("SINH")

    @property
    def tan(self) -> Expression:
        """The tangent."""
        return self._apply("TAN")

    @property
    def cot(self) -> Expression:
        """The cotangent."""
        return self._apply("COT")

    @property
    def asin(self) -> Expression:
        """The arc sine."""
        return self._apply("ASIN")

    @property
    def acos(self) -> Expression:
        """The arc cosine."""
        return self._apply("ACOS")

    @property
    def atan(self) -> Expression:
        """The arc tangent."""
        return self._apply("ATAN")

    @property
    def tanh(self) -> Expression:
        """The hyperbolic tangent."""
        return self._apply("TANH")

    @property
    def cosh(self) -> Expression:
        """The hyperbolic cosine."""
        return self._apply("COSH")

    @property
    def degrees(self) -> Expression:
        """Radians as degrees."""
        return self._apply("DEGREES")

    @property
    def radians(self) -> Expression:
        """Degrees as radians."""
        return self._apply("RADIANS")

    @property
    def sign(self) -> Expression:
        """-1, 0 or 1."""
        return self._apply("SIGN")

    @property
    def bin(self) -> Expression:
        """The whole number in binary digits."""
        return self._apply("BIN")

    @property
    def hex(self) -> Expression:
        """A whole number, or the bytes of a text, in hexadecimal digits."""
        return self._apply("HEX")

    @property
    def unhex(self) -> Expression:
        """The bytes of hexadecimal digits."""
        return self._apply("UNHEX")

    def log(self, base: Any = None) -> Expression:
        """The natural logarithm, or the one to a base."""
        return self._apply("LN") if base is None else self._new(Apply("LOG", (node_of(base), self.node)))

    def round(self, places: Any) -> Expression:
        """Rounded to so many digits after the point."""
        return self._apply("ROUND", places)

    def truncate(self, n: Any = 0) -> Expression:
        """Cut off after so many digits behind the point."""
        return self._apply("TRUNCATE", n)

    def floor(self, time_interval_unit: Any = None) -> Expression:
        """The largest whole number that is not greater; of a point in time, the beginning of its unit."""
        return self._apply_given("FLOOR", unit_of(time_interval_unit))

    def ceil(self, time_interval_unit: Any = None) -> Expression:
        """The smallest whole number that is not less; of a point in time, the beginning of the next unit."""
        return self._apply_given("CEIL", unit_of(time_interval_unit))
