"""How politely a site is visited, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from limpet.durations import seconds_of
from limpet_store.errors import SiteError

YEAR = 366 * 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Politeness:
    """`delay` is seconds, None where the host decides."""

    delay: float | None
    max_in_flight: int
    allow_private: bool
    robots: bool

    def check(self, problems: list[str]) -> None:
        """What is wrong joins `problems`."""
        if self.delay is not None and (not is_number(self.delay) or self.delay < 0):
            problems.append(f"delay {self.delay!r}: a number of seconds, at least 0")
        if type(self.max_in_flight) is not int or self.max_in_flight < 1:
            problems.append(f"max_in_flight {self.max_in_flight!r}: a whole number, at least 1")
        check_flags(problems, allow_private=self.allow_private, robots=self.robots)


def check_flags(problems: list[str], **flags: Any) -> None:
    """What is neither True nor False joins `problems`."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            problems.append(f"{name} {value!r}: True or False")


def refresh_period(given: Any) -> float | None:
    """A refresh period in seconds. Raises SiteError unless it is 1 s to a year."""
    if given is None:
        return None
    try:
        found = float(given) if is_number(given) else seconds_of(given)
    except (ValueError, TypeError):
        found = math.nan
    if not 1 <= found <= YEAR:
        raise SiteError(f'refresh {given!r}: seconds, or a text like "24h", "30m", "7d"; 1 s to a year')
    return found


def is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
