"""Times of day, and the offset they had from UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from limpet.values.plain import NotRead

CLOCK = re.compile(
    r"(?:(?<=[0-9])T|,? (?:at )?)([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"(?: ?([AaPp])\.?[Mm]\.?)?(?: ?(Z|(?:UTC|GMT)?[+-][0-9]{1,2}(?::?[0-9]{2})?|[A-Za-z]{2,5}))?$"
)


def at(text: str, day: date, found: re.Match[str], zone: tzinfo | None) -> str:
    """`day` at the time that CLOCK `found`, in ISO 8601. Raises NotRead."""
    hour, minute, second, fraction, half, name = found.groups()
    if half and not 1 <= int(hour) <= 12:
        raise NotRead(text, f"no such time: {hour} {half}m")
    hours = int(hour) % 12 + 12 * (half in "Pp") if half else int(hour)
    try:
        clock = time(hours, int(minute), int(second or 0), int((fraction or "0")[:6].ljust(6, "0")))
    except ValueError as error:
        raise NotRead(text, f"no such time: {error}") from None
    naive = datetime.combine(day, clock)
    if name and _looks_like_an_end(found):
        raise NotRead(text, f"{name!r}: an offset, or when it ends?")
    offset = _offset(name) if name else None
    if offset is not None:
        return naive.replace(tzinfo=offset).isoformat()
    if zone is not None:
        return local(text, naive, zone, name)
    if name:
        raise NotRead(text, f"time zone {name!r}: names stand for several; say timezone=")
    return naive.isoformat()


def _looks_like_an_end(found: re.Match[str]) -> bool:
    """In `10:00-12:00` two times of day; in `T10:00-05:00` and `10:00:00-05:00` an offset."""
    exact = found[0].startswith("T") or found[3] is not None
    return not exact and bool(re.fullmatch("-[0-9]{1,2}(?::[0-9]{2})?", found[6]))


def local(text: str, naive: datetime, zone: tzinfo, name: str | None) -> str:
    """`naive` with the offset that `zone` had then, which is one, none (skipped in spring) or two (in autumn)."""
    both = (naive.replace(tzinfo=zone, fold=second) for second in (0, 1))
    offsets = {
        moment.utcoffset() or timedelta()
        for moment in both
        if _exists(moment) and name in (None, moment.tzname())
    }
    if len(offsets) == 1:
        return naive.replace(tzinfo=timezone(offsets.pop())).isoformat()
    if name:
        raise NotRead(text, f"{name!r} is not what {zone} called its time then")
    raise NotRead(text, f"this time was {'there twice' if offsets else 'skipped'} in {zone}")


def _exists(moment: datetime) -> bool:
    try:
        again = moment.astimezone(UTC).astimezone(moment.tzinfo)
    except OverflowError:
        return False
    return again.replace(tzinfo=None) == moment.replace(tzinfo=None)


@lru_cache
def zone_of(name: str) -> tzinfo:
    """The zone of a name (`Europe/Berlin`) or an offset (`+01:00`). Raises ValueError."""
    try:
        return _offset(name) or ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(
            f"timezone={name!r}: neither +01:00 nor a zone this machine knows: {error}"
        ) from None


def _offset(name: str) -> tzinfo | None:
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    found = re.fullmatch("(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?", name)
    if not found or int(found[2]) > 15 or int(found[3] or 0) > 59:
        return None
    offset = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-offset if found[1] == "-" else offset)
