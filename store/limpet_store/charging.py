"""Who pays for a failure: the page, its host, or both.

A host that fails five times in a row rests, and its pages are not charged: an outage kills no page. A host that
wants to be left alone (429, 503, 403) is blocked, and the page is not charged either. But what has gone on for
longer than any outage is bound to be the page's own doing: after so many rests or blocks in a row, without one
good answer between them, pages are charged again, or a few bad ones would hold their host for ever.

No page is ever charged for a login. After the third that fails in a row the host is held: more would only lock the
account, and what helps is somebody who looks.
"""

from __future__ import annotations

from limpet_store import hosts, retry
from limpet_store.attempts import Attempt
from limpet_store.database import Database
from limpet_store.hosts import Host

PATIENCE = 5  # rests or blocks in a row that no page is charged for: rests of 31 minutes, blocks of 15


def failed(db: Database, attempt: Attempt, host: Host, jitter: float, now: int, scale: float) -> bool:
    """Count a failure that may be the host's; whether the page is charged as well. `jitter` in 0..1.

    A request that began before the current rest or block tells nothing new.
    """
    if attempt.at <= host.blocked_at:
        return False
    host.streak += 1
    # Without its robots.txt a host gives out nothing else: one failure says as much as five of its pages.
    rests = host.streak >= retry.STREAK or attempt.page.id == host.first
    if rests:  # afterwards it gives out one probe page at a time
        host.rests += 1
        _hold(host, now, retry.rest(host.rests, jitter, scale))
    hosts.save(db, host)
    return not rests or host.rests > PATIENCE


def blocked(
    db: Database, attempt: Attempt, host: Host, retry_after: int | None, jitter: float, now: int, scale: float
) -> bool:
    """Leave the host alone for a while, once per episode; whether the page is charged as well."""
    if attempt.at <= host.blocked_at:
        return False
    host.blocks += 1
    _hold(host, now, retry.block(host.blocks, retry_after, jitter, scale))
    hosts.save(db, host)
    return host.blocks > PATIENCE


def answered(db: Database, host: Host) -> None:
    """The host works: what was counted against it is over."""
    if host.streak or host.rests or host.blocks:
        host.streak = host.rests = host.blocks = 0
        host.error = host.error if host.logins else None
        hosts.save(db, host)


def login_failed(db: Database, host: Host, why: str, now: int, wait: int, *, final: bool) -> None:
    """Wait before the next login; the third failure in a row, or a final one, holds the host instead."""
    host.logins = max(host.logins + 1, retry.LOGINS if final else 0)
    host.error = why
    if not host.held:
        _hold(host, now, wait)
    hosts.save(db, host)


def login_works(db: Database, host: Host) -> None:
    """A page has shown that a login works: what was counted against it is over."""
    if host.logins:
        host.logins, host.error = 0, None
        hosts.save(db, host)


def _hold(host: Host, now: int, wait: int) -> None:
    host.blocked_at = now
    host.blocked_until = now + wait
