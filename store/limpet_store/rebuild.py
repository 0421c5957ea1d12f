"""Rebuild: the frontier and the stream again from SQL, after Redis was lost, or when told to.

One rebuilder holds a token; each chunk is one call that does nothing without it; the last sets the cursor, and
nothing is leased or relayed before. Killed half-way, it leaves a token that expires and no cursor.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from limpet_store import hosts, life, outbox, pausing
from limpet_store.frontier import MOST_SLACK, STREAM_WINDOW, Frontier
from limpet_store.ops import shift
from limpet_store.retry import HORIZON, LONGEST
from limpet_store.store import Store, StoreReborn
from limpet_store.witness import Witness

log = logging.getLogger("limpet.rebuild")

CHUNK = 200  # rows a call: five arguments each, at most 1,000
HOSTS = "SELECT id FROM hosts WHERE id > ? ORDER BY id LIMIT ?"
# The planner would sort all pending pages by id for each chunk.
PAGES = """SELECT id, host, due_at, priority, '' FROM pages INDEXED BY pages_pending
WHERE state = 'pending' AND id > ? AND open = 0 AND (due_at <= ? OR due_at > ?) ORDER BY id LIMIT ?"""
OPEN_PAGES = """SELECT id, host, due_at, priority, nonce FROM pages
WHERE open = 1 AND id > ? ORDER BY id LIMIT ?"""
MESSAGES = "SELECT seq, messages FROM outbox WHERE seq > ? AND seq <= ? AND n > 0 ORDER BY seq LIMIT ?"
# The row with which the newest so many messages begin.
WINDOW = """SELECT seq FROM (SELECT seq, sum(n) OVER (ORDER BY seq DESC) AS total FROM outbox
WHERE seq <= ? AND n > 0) WHERE total >= ? LIMIT 1"""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild put into Redis."""

    pages: int
    messages: int


class _TokenGone(Exception):
    pass


def rebuild(
    store: Store,
    frontier: Frontier,
    witness: Witness,
    *,
    lease: int,
    drop: tuple[int, str] | None = None,
    nobody_works: Callable[[], bool] = lambda: False,
) -> Rebuilt | None:
    """Build the frontier from SQL; None when another does or when it stands.

    `lease` is in ms. `drop` is a cursor that is to go first (a rebuild that was asked for). Where `nobody_works`
    on this crawl, open pages are free at once; elsewhere they stay leased for one lease, for their holders.
    Raises StoreReborn when the witness shows that the store went back in time.
    """
    store.check_identity()
    _ask_witness(store, witness)
    token = secrets.token_hex(8)
    if frontier.rebuild_begin(token, drop) != "ok":
        return None
    top = outbox.top(store.db)  # read now: nobody relays while there is no cursor
    run = _Run(store, frontier, token, lease, nobody_works())
    try:
        run.hosts()
        pages = run.pages() + run.open_pages()
        messages = run.messages(top[0])
        store.check_identity()  # a rebuild of an old life must not speak for the new one
        if not frontier.rebuild_end(token, top, paused=pausing.is_paused(store)):
            raise _TokenGone
    except _TokenGone:
        log.warning("the rebuild was overtaken; it starts again")
        return None
    log.info("frontier rebuilt from the store: %d pages, %d messages", pages, messages)
    return Rebuilt(pages, messages)


def _ask_witness(store: Store, witness: Witness) -> None:
    """A store that lacks the row it has published, or published under another id, went back in time."""
    seen = witness.read()
    if seen is None or not seen[1]:
        return
    pruned = store.db.value("SELECT pruned FROM meta")
    found = store.db.one("SELECT mark FROM outbox WHERE seq = ?", (seen[1],))
    lacks = seen[1] >= pruned and (found is None or found[0] != seen[2])
    if lacks or seen[0] != store.source.store_id:
        life.begin(store, witness, store.source.store_id)
        raise StoreReborn(f"{store.db.path}: the store went back in time")


@dataclass(slots=True)
class _Run:
    """One rebuild under its token. Reads go in chunks by key, so that none holds up a writer."""

    store: Store
    frontier: Frontier
    token: str
    lease: int
    free: bool

    def _send(self, what: str, *args: str | int | bytes) -> None:
        if not self.frontier.rebuild_chunk(what, self.token, *args):
            raise _TokenGone

    def _chunks(self, sql: str, *params: int) -> Iterator[list[tuple[int, ...]]]:
        last = 0
        while rows := self.store.db.rows(sql, (last, *params, CHUNK)):
            yield rows
            last = rows[-1][0]

    def hosts(self) -> None:
        for rows in self._chunks(HOSTS):
            facts = [value for (host,) in rows for value in hosts.load(self.store.db, host).op[1:]]
            # What was leased before and not sent yet may still start within its slack.
            self._send("hosts", 0 if self.free else MOST_SLACK, *facts)

    def pages(self) -> int:
        """Pages that nobody has. Those beyond every allowed delay are sent too: their time counts as now."""
        now = self.frontier.status().now
        return self._pages(PAGES, now + HORIZON, now + LONGEST)

    def open_pages(self) -> int:
        """Pages that somebody may have, last: their lease begins now, and the end must come before its end."""
        return self._pages(OPEN_PAGES)

    def _pages(self, sql: str, *params: int) -> int:
        count = 0
        for rows in self._chunks(sql, *params):
            args = [
                v
                for id_, host, due, priority, nonce in rows
                for v in (id_, host, due, shift(priority), nonce)
            ]
            self._send("pages", self.lease, LONGEST, int(self.free), *args)
            count += len(rows)
        return count

    def messages(self, top: int) -> int:
        """The stream's window: what this life of the store has said, as far as the outbox keeps it."""
        life_began = self.store.db.value("SELECT life FROM meta")
        begin = self.store.db.one(WINDOW, (top, STREAM_WINDOW))
        last, count = max(life_began, begin[0] - 1 if begin else 0), 0
        while rows := self.store.db.rows(MESSAGES, (last, top, CHUNK)):
            for chunk in _batched(rows):
                self._send("stream", STREAM_WINDOW, *chunk)
            count += sum(text.count("\n") + 1 for _, text in rows)
            last = rows[-1][0]
        return count


def _batched(rows: list[tuple[int, str]]) -> Iterator[list[str | int]]:
    args: list[str | int] = []
    for seq, text in rows:
        for n, message in enumerate(text.split("\n")):
            args += (f"{seq}-{n}", message)
            if len(args) >= 2 * 400:
                yield args
                args = []
    if args:
        yield args
