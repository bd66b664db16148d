"""PyFlink's ``DataTypes``: one place that makes every logical type."""

from __future__ import annotations

from firesteel.table.types.base import (
    MAX_LENGTH,
    BigIntType,
    BitmapType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    IntType,
    NullType,
    SmallIntType,
    TinyIntType,
    VariantType,
)
from firesteel.table.types.constructed import (
    ArrayType,
    ListViewType,
    MapType,
    MapViewType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    StructuredType,
)
from firesteel.table.types.decimals import DecimalType
from firesteel.table.types.strings import BinaryType, CharType, VarBinaryType, VarCharType
from firesteel.table.types.temporal import (
    DateType,
    DayTimeIntervalType,
    LocalZonedTimestampType,
    Resolution,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    interval_of,
)

__all__ = ["DataTypes"]


class DataTypes:
    """Makes logical types.

    ::

        >>> str(DataTypes.ARRAY(DataTypes.DECIMAL(10, 2).not_null()))
        'ARRAY<DECIMAL(10, 2) NOT NULL>'
    """

    @staticmethod
    def NULL() -> NullType:
        """The type of an untyped NULL."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Texts of exactly `length` code points."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Texts of at most `length` code points."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Texts of any length."""
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """True, false and, if nullable, unknown."""
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Exactly `length` bytes."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """At most `length` bytes."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Bytes of any length."""
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Exact numbers of at most `precision` digits (1 to 38), `scale` of them after the point."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Whole numbers from -128 to 127."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Whole numbers of 2 bytes."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Whole numbers of 4 bytes."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Whole numbers of 8 bytes."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Floating-point numbers of 4 bytes."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Floating-point numbers of 8 bytes."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """Days of the calendar."""
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """Times of a day; no more than milliseconds are kept, whatever the precision."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Dates with a time of day, without a time zone; `precision` digits of a second, 0 to 9."""
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Points in time, shown in the session's time zone; `precision` digits of a second, 0 to 9."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """The short name of :meth:`TIMESTAMP_WITH_LOCAL_TIME_ZONE`."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Lists whose elements are of one type."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """A :class:`ListView` in an accumulator."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Values found by keys."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """A :class:`MapView` in an accumulator."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Bags of elements of one type."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: list[RowField] | None = None, nullable: bool = True) -> RowType:
        """Rows of named fields, each made by :meth:`FIELD`."""
        return RowType(row_fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of a row."""
        return RowField(name, data_type, description)

    @staticmethod
    def STRUCTURED(class_name: str, row_fields: list[RowField], nullable: bool = True) -> StructuredType:
        """Objects of a class with named attributes."""
        return StructuredType(class_name, row_fields, nullable)

    @staticmethod
    def RAW(class_name: str = "object", nullable: bool = True) -> RawType:
        """Objects that travel pickled."""
        return RawType(class_name, nullable)

    @staticmethod
    def VARIANT(nullable: bool = True) -> VariantType:
        """Semi-structured values that carry their own type."""
        return VariantType(nullable)

    @staticmethod
    def BITMAP(nullable: bool = True) -> BitmapType:
        """Sets of whole numbers of 32 bits without sign."""
        return BitmapType(nullable)

    @staticmethod
    def SECOND(precision: int = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION) -> Resolution:
        """Seconds with `precision` digits after the point, as one end of an interval."""
        return Resolution(Resolution.IntervalUnit.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Minutes, as one end of an interval."""
        return Resolution(Resolution.IntervalUnit.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """Hours, as one end of an interval."""
        return Resolution(Resolution.IntervalUnit.HOUR)

    @staticmethod
    def DAY(precision: int = DayTimeIntervalType.DEFAULT_DAY_PRECISION) -> Resolution:
        """Days of `precision` digits, as one end of an interval."""
        return Resolution(Resolution.IntervalUnit.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Months, as one end of an interval."""
        return Resolution(Resolution.IntervalUnit.MONTH)

    @staticmethod
    def YEAR(precision: int = YearMonthIntervalType.DEFAULT_PRECISION) -> Resolution:
        """Years of `precision` digits, as one end of an interval."""
        return Resolution(Resolution.IntervalUnit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> DayTimeIntervalType | YearMonthIntervalType:
        """Distances in time: ``INTERVAL(DAY(), SECOND(3))`` in milliseconds, ``INTERVAL(MONTH())`` in months."""
        return interval_of(upper_resolution, lower_resolution)
