"""When to try again: pure functions of counts. All times in milliseconds; `scale` shortens them in tests."""

from __future__ import annotations

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

RETRIES = (10 * SECOND, MINUTE, 10 * MINUTE, HOUR)  # after the first, second, ... failure of a page
STREAK = 5  # host-wide failures in a row after which the host rests; who pays for it: charging.py
LOGINS = 3  # failed logins in a row that hold a host until somebody has looked
REST_FIRST, REST_LONGEST = MINUTE, 30 * MINUTE
BLOCK_FIRST, BLOCK_LONGEST = 30 * SECOND, 30 * MINUTE
LONGEST = DAY + HOUR  # no due time or block lies further ahead; one that does comes from a clock set back
ROBOTS_AGE = DAY  # a robots.txt is read again when it is older (RFC 9309 2.4)
HORIZON = HOUR  # the frontier holds what is due within it; the rest waits in SQL


def page_delay(failures: int, jitter: float, scale: float) -> int:
    """Until a page that has failed so many times in a row is due again; `jitter` in 0..1 adds up to a quarter, here
    and below."""
    step = RETRIES[min(failures, len(RETRIES)) - 1]
    return round(step * (1 + jitter / 4) * scale)


def login_delay(logins: int, jitter: float, scale: float) -> int:
    """Until the next login after so many that failed in a row."""
    return page_delay(logins, jitter, scale)


def rest(rests: int, jitter: float, scale: float) -> int:
    """How long a host rests the `rests`-th time in a row: 1 to 30 minutes, doubling."""
    return round(_doubled(REST_FIRST, rests, jitter, REST_LONGEST) * scale)


def block(blocks: int, retry_after: int | None, jitter: float, scale: float) -> int:
    """How long a host is left alone after a 429, 503 or 403: its own word, a day at most, or ours, whichever is
    longer."""
    ours = _doubled(BLOCK_FIRST, blocks, jitter, BLOCK_LONGEST)
    return round(max(ours, min(retry_after or 0, DAY)) * scale)


def _doubled(first: int, times: int, jitter: float, longest: int) -> float:
    return min((first << min(times - 1, 10)) * (1 + jitter / 4), longest)


def confirmed(missed: int | None, missed_at: int | None, round_: int, now: int) -> bool:
    """Whether a look that does not find something is the second one that counts: in another round than the first, or a
    day later. An immediate second look confirms the same outage."""
    return missed is not None and missed_at is not None and (missed < round_ or now - missed_at >= DAY)


def effective(due: int, now: int) -> int:
    """A time further ahead than any allowed delay counts as now (I-11)."""
    return now if due > now + LONGEST else due
