"""From a response to an outcome: the status decides, before anything is parsed. Decisions are values."""

from __future__ import annotations

import random
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial

from limpet_consumers.http import FetchFailed, Response
from limpet_consumers.login import NotLoggedIn
from limpet_store import failures
from limpet_store.attempts import Attempt
from limpet_store.outcome import Kind, Outcome
from limpet_store.retry import confirmed
from limpet_store.secret import hidden

BLOCKS = frozenset({403, 429, 503})
AGAIN = frozenset({408, 425})
OF_THE_DOCUMENT = frozenset({failures.UNREADABLE, failures.TOO_MANY_LINKS})
TOKEN_REFUSED = frozenset({400, 403, 410})  # of a page whose URL does not last


def failed(attempt: Attempt, error: FetchFailed) -> Outcome:
    """No whole response."""
    why = hidden(error.reason)
    if error.final and attempt.page.kind != "robots":
        return Outcome(attempt=attempt, kind=Kind.DEAD, reason=error.kind, error=why, host_failed=True)
    return Outcome(
        attempt=attempt, kind=Kind.RETRY, reason=error.kind, error=why, host_failed=error.host,
        jitter=random.random(), last_request=error.asked_at,
    )  # fmt: skip


def put_back(attempt: Attempt, error: NotLoggedIn) -> Outcome:
    """Nobody is logged in: the page waits, and is charged for nothing."""
    return Outcome(
        attempt=attempt, kind=Kind.PUT_BACK, login_failed=error.failure, login_final=error.final,
        jitter=random.random(),
    )  # fmt: skip


def unread(attempt: Attempt, status: int, why: str, kind: str = failures.LOGIN) -> Outcome:
    """It arrived, and nothing can be made of it; `kind` is one of `failures`. What a document is by itself, a second
    look settles: it may have been an error page in its place."""
    settled = kind in OF_THE_DOCUMENT and attempt.page.failures > 0
    return Outcome(
        attempt=attempt, kind=Kind.DEAD if settled else Kind.RETRY, status=status, reason=kind, error=why,
        jitter=random.random(),
    )  # fmt: skip


def without_body(
    attempt: Attempt, response: Response, now_ms: int, *, asked_for_changes: bool
) -> Outcome | None:
    """The outcome of a status that needs no reading; None for one whose body is to be extracted.

    `asked_for_changes`: the request was conditional, so the answer may be that there are none.
    """
    status = response.status
    outcome = partial(Outcome, attempt=attempt, status=status, reason=failures.STATUS)
    if 200 <= status < 300 and status not in (204, 205, 206):
        return None
    if status == 304:
        return _unchanged(attempt, asked_for_changes)
    if status == 410 and not attempt.page.led:
        return outcome(kind=Kind.GONE, error="410 Gone")
    if status == 404:
        return _missing(attempt, now_ms)
    if attempt.page.led and status in TOKEN_REFUSED and (status != 403 or _refused_alone(attempt, status)):
        return outcome(
            kind=Kind.REFUSED, error=f"HTTP status {status}: its token is refused", jitter=random.random()
        )
    if status in BLOCKS and not _refused_alone(attempt, status):
        wait = retry_after(response.headers.get("retry-after"), now_ms)
        return outcome(
            kind=Kind.BLOCKED, error=f"{status}: the host wants to be left alone", retry_after=wait,
            jitter=random.random(),
        )  # fmt: skip
    if status >= 500 or status in AGAIN:
        return outcome(
            kind=Kind.RETRY, error=f"HTTP status {status}", host_failed=True, jitter=random.random()
        )
    if status == 403:
        return outcome(kind=Kind.RETRY, error="HTTP status 403", jitter=random.random())
    return outcome(kind=Kind.DEAD, error=f"HTTP status {status}")


def _unchanged(attempt: Attempt, asked_for_changes: bool) -> Outcome:
    if asked_for_changes:
        return Outcome(attempt=attempt, kind=Kind.UNCHANGED, status=304)
    return Outcome(
        attempt=attempt, kind=Kind.RETRY, status=304, reason=failures.STATUS, jitter=random.random(),
        error="HTTP status 304, and nobody asked whether it has changed",
    )  # fmt: skip


def _refused_alone(attempt: Attempt, status: int) -> bool:
    """A page that was 403 last time too, while its host has been let off: it is the page, not the host."""
    return status == 403 and attempt.page.status == 403


def _missing(attempt: Attempt, now_ms: int) -> Outcome:
    """404. Never seen: a broken link. Seen before: a second look takes it away, in another round or a day later."""
    page = attempt.page
    outcome = partial(Outcome, attempt=attempt, status=404)
    if page.fetched_at is None:
        return outcome(kind=Kind.DEAD, reason=failures.BROKEN_LINK, error="404 Not Found")
    if confirmed(page.missed, page.missed_at, page.round, now_ms):
        return outcome(kind=Kind.GONE, error="404 Not Found, twice")
    return outcome(kind=Kind.MISSING, error="404 Not Found: looked at again in the next round")


def retry_after(value: str | None, now_ms: int) -> int | None:
    """Retry-After in milliseconds, as seconds or as a date; None for what is neither, negative or past."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return int(text[:9]) * 1000
    try:
        at = parsedate_to_datetime(text)
        wait = round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000) - now_ms
    except (ValueError, TypeError, OverflowError):
        return None
    return wait if wait > 0 else None
