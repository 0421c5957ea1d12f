"""Traps: links that a site makes without end, told by their URL alone.

A guard that is wrong loses pages, so each asks for what real sites hardly ever have:

- a growing path: a run of segments that comes three times in a row (`/shop/shop/shop/`), a word that comes five times
  in one path, or more than 30 segments. Digits and one or two characters are no words: `/1/1/1.png` is a tile.
- repeated parameters: the same `name=value` three times, a parameter that can mean one thing only (`page`, `sort`)
  three times, or escapes four levels deep (`%252525`), as a `return=` that holds the last one makes them.
- an endless calendar: a day or month more than 10 years ahead, or in the century before 1500. Of a calendar that says
  so (`/calendar/`): more than 3 years ahead, or 50 to 150 years back. Clear dates alone count: `/2041/07/04`,
  `/2041-07-04`, `?d=2041-07-04`, `?year=2041&month=7`, `?month=2041-07`; `/events/2041/07` for the word in it, while
  `/topic/2041/07` is page 7 of a topic. Beyond the bound 50 years are cut and no more: a calendar is walked step by
  step, and most numbers are no years.

Session ids are dropped from URLs instead (`dropping`). What is cut is counted by its reason.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote_plus

GROWING, REPEATED, CALENDAR = "trap: growing path", "trap: repeated parameter", "trap: endless calendar"

MOST_SEGMENTS = 30
IN_A_ROW = 3  # times that a run of segments comes
MOST_OFTEN = 4  # times that a word comes in one path
SAME_PAIRS = 3
AHEAD, OLDEST = 10, 1500  # years
CALENDAR_AHEAD, CALENDAR_BACK = 3, 50
BEYOND, BEFORE = 50, 100  # years that are cut beyond these bounds

# Parameters that say one thing: where in a list one is, and how it is shown.
SINGLE = frozenset(
    ["page", "p", "pg", "paged", "start", "offset", "limit", "per_page", "pagesize", "sort", "sortby", "order",
     "orderby", "dir", "view", "lang", "language", "locale", "return", "returnurl", "redirect", "next", "ref"]
)  # fmt: skip

_DEEP = "%252525"
_MONTH, _DAY = r"(?:1[0-2]|0[1-9])", r"(?:3[01]|[12][0-9]|0[1-9])"
_DAY_IN_PATH = re.compile(rf"/([0-9]{{4}})(?:/{_MONTH}/{_DAY}|-{_MONTH}-{_DAY})(?=/|$)")
_MONTH_IN_PATH = re.compile(r"/([0-9]{4})[/-](?:1[0-2]|0?[1-9])(?=[/-]|$)")
_DAY_IN_VALUE = re.compile(rf"([0-9]{{4}})-{_MONTH}-{_DAY}(?:[T ].*)?")
_DATE_IN_VALUE = re.compile(rf"([0-9]{{4}})-?{_MONTH}(?:-?{_DAY})?")
_MAY_BE_YEAR = re.compile(r"=[0-9]{4}")
_YEARS = frozenset(["year", "y", "yr", "jahr", "annee", "ano"])
_MONTHS = frozenset(["month", "m", "mon", "monat", "mois", "mes", "week", "day", "d"])
_DATES = frozenset(
    ["date", "day", "month", "week", "datum", "fecha", "cal", "calendar", "start", "start_date"]
)
_CALENDAR = re.compile(
    r"(?<![a-z])(?:calend(?:ars?|riers?|arios?)|kalender|cal|availability|bookings?|reservations?)(?![a-z])"
)
_OF_TIME = re.compile(
    r"(?<![a-z])(?:events?|eventos?|ev[eé]nements|veranstaltungen|termine|agenda|schedules?|archives?|diary|planner"
    r"|month|monthly|week|weekly|day|daily|date|news|blog)(?![a-z])"
)


def trap(url: str) -> str:
    """Why a canonical URL looks like one of a site's endless many, as the word that it is counted under; else ""."""
    path, _, query = url[url.index("/", 8) :].partition("?")
    if growing(path):
        return GROWING
    if query and (_DEEP in query or ("&" in query and repeated(query))):
        return REPEATED
    return CALENDAR if calendar(path, query) else ""


def growing(path: str) -> bool:
    """Whether a path looks as if it were made by following relative links over and over."""
    segments = path.split("/")
    if len(segments) - 1 > MOST_SEGMENTS:
        return True
    if len(segments) - len(set(segments)) < IN_A_ROW - 1:  # nothing comes three times
        return False
    words = Counter(segment for segment in segments if _is_word(segment))
    return any(count > MOST_OFTEN for count in words.values()) or any(map(_is_word, _runs(segments)))


def _is_word(segment: str) -> bool:
    return len(segment) > 2 and not segment.isdecimal()


def _runs(segments: list[str]) -> Iterator[str]:
    """The longest segment of each run that comes three times in a row."""
    for length in range(1, len(segments) // IN_A_ROW + 1):
        for at in range(len(segments) - IN_A_ROW * length + 1):
            run = segments[at : at + length]
            if run * IN_A_ROW == segments[at : at + IN_A_ROW * length]:
                yield max(run, key=len)


def repeated(query: str) -> bool:
    """Whether a query looks as if links added to it over and over. Fields of a form that are empty do not count."""
    pairs = [pair for pair in query.split("&") if pair[-1:] not in ("", "=")]
    if len(pairs) < SAME_PAIRS:
        return False
    names = [pair.partition("=")[0] for pair in pairs]
    if len(names) - len(set(names)) < SAME_PAIRS - 1:
        return False
    singles = (count for name, count in Counter(names).items() if name.lower() in SINGLE)
    return max(Counter(pairs).values()) >= SAME_PAIRS or max(singles, default=0) >= SAME_PAIRS


def calendar(path: str, query: str) -> bool:
    """Whether a URL is of a month or day that nobody has anything to say about."""
    days = _DAY_IN_PATH.findall(path)
    months = _MONTH_IN_PATH.findall(path)
    values = _years(query) if _MAY_BE_YEAR.search(query) else []
    if not (days or months or values):
        return False
    text, now = f"{path}?{query}".lower(), time.gmtime().tm_year
    of_calendar = _CALENDAR.search(text) is not None
    years = {int(year) for year in (*days, *values)}
    if of_calendar or _OF_TIME.search(text):
        years.update(map(int, months))
    last = now + (CALENDAR_AHEAD if of_calendar else AHEAD)
    first = now - CALENDAR_BACK if of_calendar else OLDEST
    return any(last < year <= last + BEYOND or first - BEFORE <= year < first for year in years)


def _years(query: str) -> list[str]:
    pairs = (pair.partition("=") for pair in query.split("&"))
    values = {name.lower(): unquote_plus(value) for name, _, value in pairs}
    found = []
    for name, value in values.items():
        if date := _DAY_IN_VALUE.fullmatch(value) or (name in _DATES and _DATE_IN_VALUE.fullmatch(value)):
            found.append(date[1])
        elif name in _YEARS and len(value) == 4 and value.isdecimal() and not _MONTHS.isdisjoint(values):
            found.append(value)
    return found
