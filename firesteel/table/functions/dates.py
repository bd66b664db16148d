"""Days, times and points in time as whole numbers: days since 1970, milliseconds of a day, nanoseconds since 1970.

Python's own dates begin with year 1 and end with microseconds; SQL's begin with year 0 and end with nanoseconds.
"""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from zoneinfo import ZoneInfo

from firesteel.errors import ConfigurationError

__all__ = [
    "DAY_MILLIS",
    "DAY_NANOS",
    "add_months",
    "civil",
    "date_text",
    "days",
    "days_of_month",
    "instant_of_local",
    "local_of_instant",
    "months_between",
    "parse_date",
    "parse_time",
    "parse_timestamp",
    "time_text",
    "timestamp_text",
    "zone",
]

DAY_MILLIS = 86_400_000
DAY_NANOS = 86_400_000_000_000
_SHORT_ZONES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
    "Z": "UTC",
}
_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def days(year: int, month: int, day: int) -> int:
    """Days since 1970 of a day of the Gregorian calendar, whatever the year."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def civil(day: int) -> tuple[int, int, int]:
    """Year, month and day of month of a day since 1970."""
    day += 719468
    era, of_era = divmod(day, 146097)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def days_of_month(year: int, month: int) -> int:
    """How many days a month has."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def add_months(day: int, months: int) -> int:
    """The same day so many months later; the last of the month where there is no such day."""
    year, month, of_month = civil(day)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return days(year, month + 1, min(of_month, days_of_month(year, month + 1)))


def months_between(later: int, earlier: int) -> int:
    """Whole months from one point in nanoseconds to another, negative if it is before."""
    if later < earlier:
        return -months_between(earlier, later)
    (day, nanos), (other, other_nanos) = divmod(later, DAY_NANOS), divmod(earlier, DAY_NANOS)
    (year, month, _), (other_year, other_month, _) = civil(day), civil(other)
    count = (year - other_year) * 12 + month - other_month
    return count - ((add_months(other, count), other_nanos) > (day, nanos))


def date_text(day: int) -> str:
    """``yyyy-MM-dd``."""
    year, month, of_month = civil(day)
    return f"{year:04}-{month:02}-{of_month:02}"


def time_text(millis: int, precision: int) -> str:
    """``HH:mm:ss``, with a fraction of at most as many digits as the precision says, without zeros at its end."""
    seconds, fraction = divmod(millis, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{hour:02}:{minute:02}:{second:02}"
    digits = f"{fraction:03}"[:precision].rstrip("0")
    return f"{text}.{digits}" if digits else text


def timestamp_text(nanos: int, precision: int) -> str:
    """``yyyy-MM-dd HH:mm:ss``, with a fraction of as many digits as the precision says, or more where they are."""
    day, of_day = divmod(nanos, DAY_NANOS)
    millis, rest = divmod(of_day, 1_000_000)
    fraction = f"{millis % 1000:03}{rest:06}"
    while len(fraction) > precision and fraction.endswith("0"):
        fraction = fraction[:-1]
    return f"{date_text(day)} {time_text(millis, 0)}{'.' if fraction else ''}{fraction}"


def parse_date(text: str) -> int | None:
    """A date as CAST reads it: year, year-month or year-month-day; what follows behind a blank is let go."""
    parts = text.strip().partition(" ")[0].split("-")
    if len(parts) > 3 or not all(part.strip().isdecimal() for part in parts):
        return None
    year, month, day = [*(int(part) for part in parts), 1, 1][:3] if len(parts) < 3 else map(int, parts)
    if not (0 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= days_of_month(year, month)):
        return None
    return days(year, month, day)


def parse_time(text: str) -> int | None:
    """A time as CAST reads it, in milliseconds: hour, minute, second, fraction, as many as there are."""
    match = re.fullmatch(r"\s*(\d+)(?::(\d+))?(?::(\d+))?(?:\.(\d+))?\s*", text)
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    millis = int(((match.group(4) or "") + "000")[:3])
    return ((hour * 60 + minute) * 60 + second) * 1000 + millis


_TIMESTAMP = re.compile(r"(\d{4,})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?")


def parse_timestamp(text: str) -> int | None:
    """A point in time as CAST reads it, in nanoseconds: a date, and perhaps a time down to the second or below."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    if not (year <= 9999 and 1 <= month <= 12 and 1 <= day <= days_of_month(year, month)):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int(((match.group(7) or "") + "0" * 9)[:9])
    return (days(year, month, day) * 86400 + (hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction


@lru_cache(maxsize=256)
def zone(name: str) -> datetime.tzinfo:
    """The time zone of a name as Java takes it: a region, an offset such as ``GMT+08:00``, an abbreviation."""
    name = _SHORT_ZONES.get(name, name)
    match = _OFFSET.fullmatch(name)
    if match is not None:
        sign, hours, minutes, seconds = match.groups()
        offset = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return datetime.timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigurationError(
            f"there is no time zone {name!r}. Names are like 'Europe/Berlin', 'UTC' or 'GMT+02:00'."
        ) from None


_EPOCH = datetime.datetime(1970, 1, 1)
# Beyond these Python's zones have no rules; the offset of the border is taken, as the rules end before anyway.
_FIRST, _LAST = -62_135_510_400, 253_402_214_400


def _offset_at(seconds: int, rules: datetime.tzinfo) -> int:
    moment = _EPOCH + datetime.timedelta(seconds=max(_FIRST, min(_LAST, seconds)))
    offset = moment.replace(tzinfo=datetime.timezone.utc).astimezone(rules).utcoffset()
    return int(offset.total_seconds()) if offset else 0


def local_of_instant(nanos: int, zone_name: str) -> int:
    """What a clock on the wall shows at a point in time, as nanoseconds since 1970 by that clock."""
    if zone_name == "UTC":
        return nanos
    return nanos + _offset_at(nanos // 1_000_000_000, zone(zone_name)) * 1_000_000_000


def instant_of_local(nanos: int, zone_name: str) -> int:
    """When a clock on the wall shows a time: the earlier point if twice, and later by the gap if never."""
    if zone_name == "UTC":
        return nanos
    rules = zone(zone_name)
    seconds = max(_FIRST, min(_LAST, nanos // 1_000_000_000))
    offset = (_EPOCH + datetime.timedelta(seconds=seconds)).replace(tzinfo=rules).utcoffset()
    return nanos - int(offset.total_seconds() if offset else 0) * 1_000_000_000
