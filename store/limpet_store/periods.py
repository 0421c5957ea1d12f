"""Refresh periods: when a finished page is due again by itself."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Periods:
    """A site's refresh periods.

    `of` gives that of a page, by the handler that its link chose (or None) and its canonical URL, in milliseconds; 0
    is none. `longest` is the longest of all, `said` a text that changes with them, "" where there are none.
    """

    of: Callable[[str | None, str], int]
    longest: int
    said: str


NO_PERIODS = Periods(lambda handler, url: 0, 0, "")


def next_at(key: str, period: int, now: int) -> int | None:
    """The page's next slot after `now`, in ms; None for no period."""
    if not period:
        return None
    phase = zlib.crc32(key.encode()) * period >> 32
    return now + period - (now - phase) % period
