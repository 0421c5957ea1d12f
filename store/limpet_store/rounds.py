"""Rounds: a crawl is run again and again. They are for people and statistics; no commit decision reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from limpet_store import outbox, positions, rereading
from limpet_store.message import round_message
from limpet_store.ops import Op, ranges, shift
from limpet_store.outbox import Entry
from limpet_store.store import OPEN_NEW, Store

LAST = "SELECT number, why, started_at, refreshed_to, finished_at FROM rounds ORDER BY number DESC LIMIT 1"
UNTRIED = """SELECT 1 FROM pages INDEXED BY pages_pending WHERE state = 'pending'
AND coalesce(attempted_at, 0) < (SELECT started_at FROM rounds ORDER BY number DESC LIMIT 1) LIMIT 1"""
CHUNK = 1_000  # pages made due in one transaction
# Nearly all pages are wanted, in order of id: an index by state would sort them for each chunk.
TO_REFRESH = """SELECT id, host, priority FROM pages NOT INDEXED
WHERE id > ? AND state IN ('done', 'alias', 'dead', 'gone') AND led = 0 AND round < ?
AND (lastmod IS NULL OR ?) AND (reason IS NOT 'excluded' OR round = 0) AND forgotten = 0 ORDER BY id LIMIT ?"""
REST = """SELECT id, host, priority FROM pages NOT INDEXED
WHERE id > ? AND state IN ('done', 'alias', 'dead', 'gone') AND led = 0 AND round < ? AND lastmod IS NOT NULL
AND (reason IS NOT 'excluded' OR round = 0) AND forgotten = 0
AND fence <= (SELECT fence FROM rounds ORDER BY number DESC LIMIT 1) ORDER BY id LIMIT ?"""
REFRESH = """UPDATE pages SET state = 'pending', due_at = ?, round = ?, failures = 0, rereads = 0, lost = 0,
reason = NULL, error = NULL WHERE id = ?"""


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over the crawl; times in ms. `refreshed_to` is None when all its pages have been made due."""

    number: int
    why: str
    started_at: int
    refreshed_to: int | None
    finished_at: int | None


def last(store: Store) -> Round | None:
    """The newest round, or None before the first."""
    found = store.db.one(LAST)
    return Round(*found) if found else None


def pending(store: Store) -> bool:
    """Whether anything is left to do: EXISTS, never a count (R-5)."""
    return store.db.one("SELECT 1 FROM pages WHERE state = 'pending' LIMIT 1") is not None


def only_leftovers(store: Store) -> bool:
    """Whether all that is pending was tried in the open round already, and failed or was refused."""
    return store.db.one(UNTRIED) is None


def supersede(store: Store, now: int) -> bool:
    """End an open round that has only leftovers, so that the next can start; its pages stay pending."""
    with store.db.write():
        store.check_identity()
        current = last(store)
        if current is None or current.finished_at is not None or not only_leftovers(store):
            return False
        _close(store, current, now)
    return True


def start(store: Store, why: str, now: int) -> Round:
    """Open a new round unless one is open; its pages are made due by `refresh`, chunk by chunk."""
    with store.db.write():
        store.check_identity()
        current = last(store)
        if current is None or current.finished_at is not None:
            number = current.number + 1 if current else 1
            store.db.run(OPEN_NEW, (number, why, now, 0))
            current = Round(number, why, now, 0, None)
    return current


def refresh(store: Store, now: int, *, listed: bool = True) -> int:
    """Make the open round's finished pages due again, to the last one; returns how many were.

    With `listed` False those with a lastmod are left to their sitemaps, and to `rest`. The place reached is committed
    with each chunk, so a killed refresh goes on where it was.
    """
    count = 0
    while True:
        with store.db.write():
            store.check_identity()
            current = last(store)
            if current is None or current.refreshed_to is None:
                return count
            rows = store.db.rows(TO_REFRESH, (current.refreshed_to, current.number, listed, CHUNK))
            _make_due(store, rows, current.number, now)
            reached = rows[-1][0] if len(rows) == CHUNK else None
            store.db.run("UPDATE rounds SET refreshed_to = ? WHERE number = ?", (reached, current.number))
            count += len(rows)


def rest(store: Store, now: int) -> int:
    """Make due what was left for the end of the open round: by a refresh to sitemaps, when none has spoken of it; and
    pages that wait to be read with all that others hand down. Returns how many were.

    To be called when nothing else is left to do. What is due, or was asked for in this round, is left out, so a
    killed call is repeated.
    """
    count = after = 0
    while True:
        with store.db.write():
            store.check_identity()
            current = last(store)
            if current is None or current.finished_at is not None or current.refreshed_to is not None:
                return count
            rows = store.db.rows(REST, (after, current.number, CHUNK))
            _make_due(store, rows, current.number, now)
            count += _read_last(store, now)
        count += len(rows)
        if len(rows) < CHUNK:
            return count
        after = rows[-1][0]


def _read_last(store: Store, now: int) -> int:
    """Let go what waits to be read with all that is handed down to it; inside the caller's transaction."""
    rows = rereading.waiting(store.db, CHUNK)
    store.db.many(rereading.DUE, [(now, page) for page, _, _ in rows])
    ops: list[Op] = ranges("n", ((page, host, now, shift(priority)) for page, host, priority in rows))
    if ops:
        outbox.append(store.db, [Entry("handed", ops)], now)
    return len(rows)


def _make_due(store: Store, rows: Sequence[tuple[int, int, int]], number: int, now: int) -> None:
    store.db.many(REFRESH, [(now, number, page) for page, _, _ in rows])
    ops: list[Op] = ranges("r", ((page, host, now, shift(priority)) for page, host, priority in rows))
    if ops:
        outbox.append(store.db, [Entry("refresh", ops)], now)


def finish(store: Store, now: int) -> bool:
    """The done-check: close the round if nothing is pending, with one message; True when this call did it."""
    if pending(store):
        return False
    with store.db.write():
        store.check_identity()
        current = last(store)
        if (
            current is None
            or current.finished_at is not None
            or current.refreshed_to is not None
            or pending(store)
        ):
            return False
        positions.give_up(store.db)
        _close(store, current, now)
    return True


def _close(store: Store, current: Round, now: int) -> None:
    """Note the end of a round and its one message, inside the caller's transaction."""
    store.db.run("UPDATE rounds SET finished_at = ? WHERE number = ?", (now, current.number))
    message = round_message(
        store.source, number=current.number, why=current.why, started_at=current.started_at, at=now
    )
    outbox.append(store.db, [Entry("round", messages=[message])], now)
