"""Counts of all pages and hosts, for who shows them now and then. No read is long: a crawl of ten million pages is
counted in a second or two, and neither a writer nor Redis waits for more than a few milliseconds of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from limpet_store.database import Database
from limpet_store.errors import FrontierError
from limpet_store.frontier import Frontier, InFrontier
from limpet_store.retry import LOGINS, LONGEST
from limpet_store.store import Store

CHUNK = 50_000  # entries of an index in one read
HOSTS_CHUNK = 200  # hosts in one read, and in one call of Redis
STATES = ("pending", "done", "alias", "dead", "gone", "held")
# Index and order are those of pages_due. Any number of pages may have the same due time, so there are two steps.
BEYOND = """SELECT due_at, id FROM pages INDEXED BY pages_due WHERE state = ? AND due_at > ?
ORDER BY due_at, id LIMIT 1 OFFSET ?"""
LAST = "SELECT count(*) FROM pages INDEXED BY pages_due WHERE state = ? AND due_at > ?"
SAME = """SELECT id FROM pages INDEXED BY pages_due WHERE state = ? AND due_at = ? AND id > ?
ORDER BY id LIMIT 1 OFFSET ?"""
LAST_SAME = "SELECT count(*) FROM pages INDEXED BY pages_due WHERE state = ? AND due_at = ? AND id > ?"
SITEMAPS = "SELECT state, count(*) FROM pages WHERE kind = 'sitemap' GROUP BY state"
HOSTS = f"""SELECT h.id, CASE WHEN h.logins >= {LOGINS} THEN 'held' WHEN h.paused THEN 'paused'
  WHEN h.blocked_until <= :now OR h.blocked_until > :now + {LONGEST} THEN 'free'
  WHEN h.rests > 0 THEN 'resting' ELSE 'blocked' END, p.state
FROM hosts h LEFT JOIN pages p ON p.id = h.robots_page AND h.robots_page > 0
WHERE h.id > :last ORDER BY h.id LIMIT {HOSTS_CHUNK}"""


@dataclass(frozen=True, slots=True)
class Census:
    """What was counted. `pages` by state are without robots.txt and sitemaps; `hosts` are free, blocked (they asked for
    it), resting (they failed), paused or held. `frontier` is None where Redis did not answer."""

    at: float  # seconds since 1970, when it began
    pages: Mapping[str, int]
    hosts: Mapping[str, int]
    frontier: InFrontier | None


def take(store: Store, frontier: Frontier | None, now: int) -> Census:
    """Count everything once; `now` in ms."""
    at = time.time()
    pages = Counter({state: _pages(store.db, state) for state in STATES})
    pages.subtract(dict(store.db.rows(SITEMAPS)))
    hosts: Counter[str] = Counter()
    found: InFrontier | None = InFrontier()
    for rows in _hosts(store.db, now):
        hosts.update(state for _, state, _ in rows)
        pages.subtract(robots for _, _, robots in rows if robots)
        if frontier and found:
            try:
                found += frontier.census([host for host, *_ in rows])
            except FrontierError:
                found = None
    # Rows may have moved from one state to another between two reads.
    return Census(
        at, {state: max(0, count) for state, count in pages.items()}, hosts, found if frontier else None
    )


def _pages(db: Database, state: str) -> int:
    total, due = 0, -1
    while found := db.one(BEYOND, (state, due, CHUNK - 1)):
        due, page = found
        total += CHUNK + _same(db, state, due, page)
    return total + int(db.value(LAST, (state, due)))


def _same(db: Database, state: str, due: int, page: int) -> int:
    """Those behind `page` that are due at the same time."""
    total = 0
    while found := db.one(SAME, (state, due, page, CHUNK - 1)):
        (page,) = found
        total += CHUNK
    return total + int(db.value(LAST_SAME, (state, due, page)))


def _hosts(db: Database, now: int) -> Iterator[list[tuple[int, str, str | None]]]:
    last = 0
    while rows := db.rows(HOSTS, {"now": now, "last": last}):
        yield rows
        last = rows[-1][0]
