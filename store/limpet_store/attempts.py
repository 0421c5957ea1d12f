"""Attempts (R-7): before any request goes out, SQL knows that it may."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from limpet_store import hosts
from limpet_store.database import Database
from limpet_store.failures import EXCLUDED, FORGOTTEN
from limpet_store.hosts import DELAY
from limpet_store.ops import shift
from limpet_store.outbox import Entry
from limpet_store.retry import LOGINS, LONGEST, ROBOTS_AGE, effective

SUSPECT = 2  # losses after which a page is tried alone
READ = f"""SELECT p.id, p.key, p.host, p.kind, p.url, p.canonical, p.method, p.body, p.headers, p.query, p.handler,
  p.data, p.merges, p.led, p.depth, p.hops, p.priority, p.state, p.due_at, p.round, p.failures, p.lost, p.open,
  p.status, p.fetched_at, p.etag, p.modified, p.missed, p.missed_at, p.code, p.forgotten,
  h.blocked_until, h.paused OR h.logins >= {LOGINS} OR (SELECT paused FROM meta),
  iif(h.robots_page > 0, h.robots_at, NULL), {DELAY}, h.pace
FROM pages p JOIN hosts h ON h.id = p.host WHERE p.id = ?"""
MARK = "UPDATE pages SET open = 1, fence = ?, nonce = ?, attempted_at = ?, lost = ? WHERE id = ?"
BURY = "UPDATE pages SET state = 'dead', open = 0, reason = ?, error = ?, lost = ? WHERE id = ?"
IN_HAND = "SELECT id, url, fence, nonce FROM pages WHERE open = 1 AND substr(nonce, 1, length(?)) = ?"


class PageRow(NamedTuple):
    """A page and its host as the attempt transaction reads them."""

    id: int
    key: str
    host: int
    kind: str
    url: str
    canonical: str
    method: str
    body: bytes | None
    headers: str | None
    query: str | None
    handler: str | None
    data: str | None
    merges: int
    led: int
    depth: int
    hops: int
    priority: int
    state: str
    due_at: int
    round: int
    failures: int
    lost: int
    open: int
    status: int | None
    fetched_at: int | None
    etag: str | None
    modified: str | None
    missed: int | None
    missed_at: int | None
    code: str | None
    forgotten: int
    blocked_until: int
    paused: int  # or held, or the crawl is paused
    robots_at: int | None
    delay: int
    pace: int


@dataclass(frozen=True, slots=True)
class Lease:
    """A page that is this worker's for a while: advice; the fence decides."""

    page: int
    host: int
    nonce: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """A page whose request may go out now, under this fence."""

    page: PageRow
    nonce: str
    fence: int
    at: int


# Whether robots.txt lets a page go: (host id, when its rules were fetched, URL) -> allowed.
Allowed = Callable[[int, int | None, str], bool]


@dataclass(slots=True)
class Begun:
    """What an attempt transaction decided. `unsettled` leases were not attempted: release them at once."""

    fence: int
    attempts: list[Attempt] = field(default_factory=list)
    unsettled: list[Lease] = field(default_factory=list)
    entry: Entry = field(default_factory=lambda: Entry("attempt"))
    suspect: bool = False  # the only attempt is one that goes alone
    buried: list[tuple[PageRow, str]] = field(default_factory=list)  # dead without a request, and why


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides besides the rows.

    `busy`: something else is in flight in this worker. `fresh` says whether more than a third of a lease is left
    by the worker's own clock. `last_fence` bounds the attempts of a limited run.
    """

    now: int
    busy: bool
    max_lost: int
    allowed: Allowed
    fresh: Callable[[Lease], bool] = lambda lease: True
    last_fence: int | None = None
    robots_age: int = ROBOTS_AGE  # ms that the rules of a robots.txt stand
    excluded: Callable[[str], bool] | None = None  # whether the site file does not want this URL any more


def in_hand(db: Database, token: str) -> list[tuple[int, str, int, str]]:
    """Attempts without an outcome under nonces that begin with `token`: page, URL, fence, nonce."""
    return [(page, url, fence, nonce) for page, url, fence, nonce in db.rows(IN_HAND, (token, token))]


def begin(db: Database, leases: Sequence[Lease], fence: int, rules: Rules) -> Begun:
    """Decide for each leased page inside the caller's transaction.

    It goes if it is pending and due, the crawl is not paused, and its host neither blocked, paused nor held. One that
    is not pending gets its ack, one that may not go yet its time, both as outbox ops. A page that vanished with its
    worker twice is a suspect and goes alone; whoever has to step back for that is left to be released.
    """
    begun = Begun(fence)
    for lease in leases:
        found = db.one(READ, (lease.page,))
        if found is None:  # leased under another life of the store
            begun.entry.ops.append(("k", lease.page, lease.host, lease.nonce))
        else:
            _decide(db, lease, PageRow(*found), begun, rules)
    return begun


def _decide(db: Database, lease: Lease, row: PageRow, begun: Begun, rules: Rules) -> None:
    ops = begun.entry.ops
    lost = row.lost + row.open
    burial = _burial(row, lost, rules) if row.state == "pending" else None
    if _rules_are_old(row, rules):
        ops += hosts.renew_robots(db, row.host, rules.now, rules.robots_age, row.round)
    if row.state != "pending":
        ops.append(("k", row.id, row.host, lease.nonce))
    elif _must_wait(row, rules.now):
        ops.append(("p", row.id, row.host, lease.nonce, row.due_at, shift(row.priority)))
    elif burial:
        db.run(BURY, (*burial, lost, row.id))  # no attempt, so no fence: `open` refuses whoever still has it
        begun.buried.append((row, burial[0]))
        ops.append(("k", row.id, row.host, lease.nonce))
    elif _steps_back(lease, row, begun, rules):
        begun.unsettled.append(lease)
    else:
        begun.fence += 1
        begun.suspect = lost >= SUSPECT
        db.run(MARK, (begun.fence, lease.nonce, rules.now, lost, row.id))
        begun.attempts.append(Attempt(row, lease.nonce, begun.fence, rules.now))


def _rules_are_old(row: PageRow, rules: Rules) -> bool:
    """Whether the host's robots.txt is to be read again; one of a time that has not come was read under another
    clock."""
    if row.robots_at is None or row.kind == "robots" or row.state != "pending":
        return False
    return rules.now - row.robots_at > rules.robots_age or row.robots_at > rules.now + LONGEST


def _steps_back(lease: Lease, row: PageRow, begun: Begun, rules: Rules) -> bool:
    suspect_in_company = row.lost + row.open >= SUSPECT and (rules.busy or bool(begun.attempts))
    # What a dead worker left open belongs to the pages already counted.
    spent = rules.last_fence is not None and begun.fence >= rules.last_fence and not row.open
    return begun.suspect or suspect_in_company or spent or not rules.fresh(lease)


def _must_wait(row: PageRow, now: int) -> bool:
    blocked = now < row.blocked_until <= now + LONGEST
    return bool(row.paused) or blocked or effective(row.due_at, now) > now


def _burial(row: PageRow, lost: int, rules: Rules) -> tuple[str, str] | None:
    """Why the page dies without a request: (reason, error)."""
    if row.kind == "robots":
        return None  # without its rules the host would give out nothing ever again
    if row.forgotten:
        return FORGOTTEN, "forgotten, and found again"
    if lost >= rules.max_lost:
        return "poison", f"its worker died {lost} times while it had this page"
    if row.kind != "sitemap" and not rules.allowed(row.host, row.robots_at, row.canonical):
        return "robots", "disallowed by robots.txt"
    if row.kind == "page" and rules.excluded and rules.excluded(row.canonical):
        return EXCLUDED, "excluded by the site file since it was found"
    return None
