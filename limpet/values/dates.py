"""Dates and times as people and feeds write them, as ISO 8601 strings: `2025-03-04`, `2025-03-04T10:00:00+01:00`.

Nothing here knows what day it is today: what would be read otherwise tomorrow ("3 days ago", "4 March") is refused.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import date as Date
from functools import lru_cache
from typing import Any, Literal

from limpet.values import clocks
from limpet.values.plain import NotRead, fold
from limpet_store.errors import UsageError

Order = Literal["DMY", "MDY", "YMD"]
_NAMES = "january february march april may june july august september october november december"
_MONTHS = _NAMES.split()
_WEEK = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_DAYS = _WEEK.split()
_MONTH = {name[:size]: at for at, name in enumerate(_MONTHS, 1) for size in (3, len(name))} | {"sept": 9}
_DAY = {name[:size].lower(): at for at, name in enumerate(_DAYS) for size in (3, len(name))} | {
    "tues": 1,
    "thur": 3,
    "thurs": 3,
}

_YEAR_FIRST = re.compile(r"([0-9]{4})([-/.])([0-9]{1,2})\2([0-9]{1,2})")
_EAST_ASIAN = re.compile(r"([0-9]{4}) ?[年년] ?([0-9]{1,2}) ?[月월] ?([0-9]{1,2}) ?[日일]")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.]) ?([0-9]{1,2})\2 ?([0-9]{4})")
_WEEKDAY = re.compile(r"([A-Za-z]+)[.,]? (.+)")
_DAY_FIRST = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th|\.)?[ -](?:of )?([A-Za-z]+)[.,]?[ -]([0-9]{4})")
_MONTH_FIRST = re.compile(r"([A-Za-z]+)[. -] ?([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})")
_YEAR_MONTH = re.compile(r"([0-9]{4})[ -]([A-Za-z]+)[. -] ?([0-9]{1,2})")
_RELATIVE = re.compile(r"\b(?:ago|yesterday|today|tomorrow|now|last|next)\b", re.I)
_FULL_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_YEARS = range(1500, 2201)  # 0001 and 9999 mean none; 2568 is a year in Thailand, 1403 one in Iran
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNIX = {"unix": 1_000_000, "unix-ms": 1_000}  # microseconds in one
_MS_FROM = 10**11  # as seconds the year 5138, as milliseconds 1973


def date(
    text: str,
    *,
    format: str | None = None,
    order: Order | None = None,
    languages: Sequence[str] | None = None,
    timezone: str | None = None,
) -> str:
    """The one date, or date and time, that `text` consists of, in ISO 8601; fractions of a microsecond are cut.

    `order` says how `03/04/2025` is meant. `languages` (`["de"]`) names the languages of months, English unless
    given. `timezone` (`"Europe/Berlin"`, `"+01:00"`) is that of times written without an offset, which stay
    without one otherwise; a name as `CET` is read if it is this zone's. `format` is a `strptime` format that
    holds a year, `"unix"` or `"unix-ms"`; nothing else is read then.

    Raises NotRead for what is no whole date (a day, a month and four digits of year), for an impossible one, for
    one relative to today, for an English weekday that it was not, and for one with words besides it. In other
    languages weekdays are not checked, and dateparser leaves out a few words. Raises ValueError for wrong arguments.
    """
    if order not in (None, "DMY", "MDY", "YMD"):
        raise ValueError(f"order={order!r}: DMY, MDY or YMD")
    if isinstance(languages, str):
        raise ValueError(f"languages={languages!r}: a list, [{languages!r}]")
    zone = None if timezone is None else clocks.zone_of(timezone)
    if format in _UNIX:
        return _since_epoch(text, format)
    if format is not None:
        return _as_said(text, format, zone)
    plain = fold(text)
    found = clocks.CLOCK.search(plain)
    day = _day(text, plain[: found.start()] if found else plain, order, tuple(languages or ("en",)))
    return clocks.at(text, day, found, zone) if found else day.isoformat()


def _day(text: str, plain: str, order: Order | None, languages: tuple[str, ...]) -> Date:
    english = "en" in languages
    named = _WEEKDAY.fullmatch(plain) if english else None
    weekday = _DAY.get(named[1].lower()) if named else None
    rest = named[2] if named and weekday is not None else plain
    parts = _digits(text, rest, order) or (_english(rest) if english else None) or _foreign(rest, languages)
    if parts is None:
        raise NotRead(text, _why_not(plain))
    day = _calendar(text, *parts)
    if weekday is not None and day.weekday() != weekday:
        raise NotRead(text, f"{day.isoformat()} is a {_DAYS[day.weekday()]}")
    return day


def _digits(text: str, plain: str, order: Order | None) -> tuple[int, int, int] | None:
    if found := _YEAR_FIRST.fullmatch(plain):
        return int(found[1]), int(found[3]), int(found[4])
    if found := _EAST_ASIAN.fullmatch(plain):
        return int(found[1]), int(found[2]), int(found[3])
    if found := _YEAR_LAST.fullmatch(plain):
        return _in_order(text, int(found[1]), int(found[3]), int(found[4]), order)
    return None


def _in_order(text: str, first: int, second: int, year: int, order: Order | None) -> tuple[int, int, int]:
    if order == "YMD":
        raise NotRead(text, "the year is not the first")
    if order is None and first != second and first <= 12 and second <= 12:
        raise NotRead(text, 'day or month first? Say order="DMY" or order="MDY"')
    month_first = order == "MDY" or (order is None and second > 12)
    return (year, first, second) if month_first else (year, second, first)


def _english(plain: str) -> tuple[int, int, int] | None:
    for pattern, day, name, year in ((_DAY_FIRST, 1, 2, 3), (_MONTH_FIRST, 2, 1, 3), (_YEAR_MONTH, 3, 2, 1)):
        found = pattern.fullmatch(plain)
        if found and (month := _MONTH.get(found[name].lower())):
            return int(found[year]), month, int(found[day])
    return None


def _dateparser() -> Any:
    """It takes 70 ms to import, and is not installed with limpet: for those who need it."""
    try:
        return importlib.import_module("dateparser")
    except ImportError:
        raise UsageError("dates in other languages need dateparser: pip install 'limpet[dates]'") from None


@lru_cache(maxsize=4096)
def _foreign(plain: str, languages: tuple[str, ...]) -> tuple[int, int, int] | None:
    """Day and year are what stands there; dateparser knows what the month is called."""
    others = [language for language in languages if language != "en"]
    numbers = sorted(re.findall("[0-9]+", plain), key=len)
    if not others or len(numbers) != 2 or len(numbers[0]) > 2 or len(numbers[1]) != 4:
        return None
    dateparser = _dateparser()
    settings = {"STRICT_PARSING": True, "PARSERS": ["absolute-time"], "DATE_ORDER": "DMY"}
    found = dateparser.parse(plain, languages=others, settings=settings)
    if found is None or (found.day, found.year) != (int(numbers[0]), int(numbers[1])):
        return None
    return found.year, found.month, found.day


def _calendar(text: str, year: int, month: int, day: int) -> Date:
    if year not in _YEARS:
        raise NotRead(text, f"the year {year}: a placeholder, or another calendar's?")
    try:
        return Date(year, month, day)
    except ValueError as error:
        raise NotRead(text, f"no such day: {error}") from None


def _why_not(plain: str) -> str:
    if _RELATIVE.search(plain):
        return "relative to the day it is read on"
    if not _FULL_YEAR.search(plain):
        return "no year of four digits"
    return "not one whole date, or words besides it; format= and languages= may help"


def _since_epoch(text: str, unit: str) -> str:
    plain = fold(text)
    found = re.fullmatch(r"(-?)([0-9]{1,15})(?:\.([0-9]{1,9}))?", plain)
    if not found:
        raise NotRead(text, "not a Unix time")
    if unit == "unix" and int(found[2]) >= _MS_FROM:
        raise NotRead(text, 'not seconds; milliseconds are format="unix-ms"')
    micro = int(found[2]) * _UNIX[unit] + int((found[3] or "").ljust(9, "0")) * _UNIX[unit] // 10**9
    try:
        return (_EPOCH + timedelta(microseconds=-micro if found[1] else micro)).isoformat()
    except OverflowError:
        raise NotRead(text, "beyond the year 9999") from None


def _as_said(text: str, format: str, zone: tzinfo | None) -> str:
    has_time = _checked(format)
    try:
        found = datetime.strptime(fold(text), format)
    except ValueError:
        raise NotRead(text, f"does not fit {format!r}") from None
    if not has_time:
        return found.date().isoformat()
    return clocks.local(text, found, zone, None) if zone and found.tzinfo is None else found.isoformat()


@lru_cache
def _checked(format: str) -> bool:
    """Whether `format` holds a time. Raises ValueError for a format that is none, or leaves the year out."""
    directives = set(re.findall("%(.)", format))
    if "Z" in directives or not directives & set("YycxG"):
        raise ValueError(f"format={format!r}: a year must be in it, and %Z (names of time zones) must not")
    datetime.strptime(_EPOCH.strftime(format), format)
    return bool(directives & set("HIMSfpcXzT"))
