"""What the store knows of one page or one record: for a person who asks why. Reads only, a few rows at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from limpet_store.canonical import DEFAULT_PORTS, Address
from limpet_store.hosts import DELAY
from limpet_store.store import Store

PAGE = """SELECT id, key, kind, url, canonical, method, host, handler, data, parent, depth, hops, priority, state,
  due_at, round, fence, open, attempted_at, failures, lost, status, reason, error, fetched_at, code, dropped,
  refresh_at FROM pages"""
HOST = f"""SELECT id, scheme, name, port, scope, {DELAY}, max_in_flight, blocked_until, blocks, rests,
  error, paused, robots_page, robots, logins FROM hosts"""
RECORD = """SELECT id, type, key, url, version, data, gone, first_seen, last_changed FROM records"""
PARTS_OF_PAGE = """SELECT r.type, r.key, r.version, r.gone, p.part, p.last_seen FROM parts p
JOIN records r ON r.id = p.record WHERE p.page = ? ORDER BY r.type, r.key, p.part LIMIT ?"""
PARTS_OF_RECORD = """SELECT p.part, p.page, g.url, p.last_seen, p.fence, p.data FROM parts p
JOIN pages g ON g.id = p.page WHERE p.record = ? ORDER BY p.part"""
REJECTED = "SELECT type, key, field, reason, value, at FROM rejections WHERE page = ? ORDER BY n"
REJECTED_RECORD = """SELECT g.url, r.field, r.reason, r.value, r.at FROM rejections r JOIN pages g ON g.id = r.page
WHERE r.type = ? AND r.key = ? LIMIT 10"""
MESSAGES = """SELECT seq, messages FROM outbox WHERE n > 0 AND seq > ? AND seq <= ? AND instr(messages, ?)
ORDER BY seq"""
WAITING = """SELECT count(*) FROM (SELECT 1 FROM pages INDEXED BY pages_pending
WHERE state = 'pending' AND host = ? AND due_at <= ? LIMIT ?)"""
UNREAD = "SELECT count(*) FROM (SELECT 1 FROM pages INDEXED BY pages_pending WHERE state = 'pending' LIMIT ?)"
MOST_PARTS = 100
MOST_ANCESTORS = 50
STEP = 2_000  # outbox rows in one read
MOST_WAITING = 10_000


class PageFacts(NamedTuple):
    """A page's row; times in ms."""

    id: int
    key: str
    kind: str
    url: str
    canonical: str
    method: str
    host: int
    handler: str | None
    data: str | None
    parent: int | None
    depth: int
    hops: int
    priority: int
    state: str
    due_at: int
    round: int
    fence: int
    open: int
    attempted_at: int | None
    failures: int
    lost: int
    status: int | None
    reason: str | None
    error: str | None
    fetched_at: int | None
    code: str | None
    dropped: str | None
    refresh_at: int | None


class HostFacts(NamedTuple):
    """A host's row; times in ms."""

    id: int
    scheme: str
    name: str
    port: int
    scope: int
    delay: int
    max_in_flight: int
    blocked_until: int
    blocks: int
    rests: int
    error: str | None
    paused: int
    robots_page: int
    robots: str | None
    logins: int

    @property
    def origin(self) -> str:
        place = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.name}{place}"


class RecordFacts(NamedTuple):
    """A record's row; times in ms."""

    id: str
    type: str
    key: str
    url: str
    version: int
    data: str
    gone: int
    first_seen: int
    last_changed: int


class Contribution(NamedTuple):
    """A part that a page contributes to a record."""

    type: str
    key: str
    version: int
    gone: int
    part: str
    last_seen: int


class Part(NamedTuple):
    """A part of a record, and the page it comes from."""

    part: str
    page: int
    url: str
    last_seen: int
    fence: int
    data: str


def pages(store: Store, key: str) -> list[PageFacts]:
    """The pages that somebody may mean by a page key or a canonical URL; of one URL there may be several."""
    rows = store.db.rows(f"{PAGE} WHERE key = ?", (key,))
    if not rows:  # keys that begin with a word: those of requests that are more than a GET
        rows = store.db.rows(f"{PAGE} WHERE canonical = ? ORDER BY id LIMIT 10", (key,))
    return [PageFacts(*row) for row in rows]


def page(store: Store, id_: int) -> PageFacts | None:
    """The page of this id."""
    found = store.db.one(f"{PAGE} WHERE id = ?", (id_,))
    return PageFacts(*found) if found else None


def ancestors(store: Store, facts: PageFacts) -> list[PageFacts]:
    """The page that it was found on, the page that one was found on, and so on to a seed."""
    found: list[PageFacts] = []
    parent = facts.parent
    while parent is not None and len(found) < MOST_ANCESTORS:
        above = page(store, parent)
        if above is None:
            break
        found.append(above)
        parent = above.parent
    return found


def host(store: Store, id_: int) -> HostFacts:
    """The host of this id."""
    return HostFacts(*store.db.rows(f"{HOST} WHERE id = ?", (id_,))[0])


def host_at(store: Store, address: Address) -> HostFacts | None:
    """The host of an address, if the crawl ever met it."""
    found = store.db.one(
        f"{HOST} WHERE scheme = ? AND name = ? AND port = ?", (address.scheme, address.name, address.port)
    )
    return HostFacts(*found) if found else None


def contributions(store: Store, page_id: int) -> list[Contribution]:
    """The first 100 parts that come from the page."""
    return [Contribution(*row) for row in store.db.rows(PARTS_OF_PAGE, (page_id, MOST_PARTS))]


def rejections(store: Store, page_id: int) -> list[dict[str, Any]]:
    """What was rejected on the page's newest visit."""
    names = ("type", "key", "field", "reason", "value", "at")
    return [dict(zip(names, row, strict=True)) for row in store.db.rows(REJECTED, (page_id,))]


def unread(store: Store) -> int:
    """Pages that are still to be read, counted up to 10,000: what they link is not known yet."""
    return int(store.db.value(UNREAD, (MOST_WAITING,)))


def waiting_on(store: Store, host_id: int, now: int) -> int:
    """Pages of a host that are due, counted up to 10,000."""
    return int(store.db.value(WAITING, (host_id, now, MOST_WAITING)))


def records(store: Store, key: str) -> list[RecordFacts]:
    """The records that somebody may mean: by record id, by key, or by `type key` or `type/key`."""
    found = store.db.rows(f"{RECORD} WHERE id = ?", (key,))
    found = found or store.db.rows(f"{RECORD} WHERE key = ? ORDER BY type LIMIT 10", (key,))
    for separator in () if found else (" ", "/"):
        type_, between, rest = key.partition(separator)
        if between and not found:
            found = store.db.rows(f"{RECORD} WHERE type = ? AND key = ?", (type_, rest))
    return [RecordFacts(*row) for row in found]


def parts(store: Store, record: str) -> list[Part]:
    """The parts of a record, in the order in which they are merged."""
    return [Part(*row) for row in store.db.rows(PARTS_OF_RECORD, (record,))]


def rejections_of(store: Store, record: RecordFacts) -> list[dict[str, Any]]:
    """Pages on whose newest visit the record was rejected."""
    names = ("url", "field", "reason", "value", "at")
    rows = store.db.rows(REJECTED_RECORD, (record.type, record.key))
    return [dict(zip(names, row, strict=True)) for row in rows]


def versions(store: Store, record: str) -> Iterator[dict[str, Any]]:
    """The messages of a record that are still kept, oldest first. Looks through the whole outbox, in steps."""
    top = int(store.db.value("SELECT coalesce(max(seq), 0) FROM outbox"))
    for low in range(0, top, STEP):
        for _, messages in store.db.rows(MESSAGES, (low, low + STEP, f'"subject":"{record}"')):
            for line in messages.split("\n"):
                message = json.loads(line)
                if message.get("subject") == record:
                    yield message
