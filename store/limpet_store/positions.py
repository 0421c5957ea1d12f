"""Places in a listing whose URLs do not last: pagination tokens, session ids, cursors.

Such a page is known by its place (`key`), and its URL is the newest that the page before it gave. It is made due by
that page and not by a refresh, which would only send last night's token. A token that is refused sends the crawl back
to the nearest page whose URL lasts: from there the way is found again, place by place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from limpet_store import hosts, rereading
from limpet_store.admission import Discovery, HostRules
from limpet_store.database import Database
from limpet_store.ops import NOBODY, Op, shift

KNOWN = "SELECT id, host, state, round, open, due_at, priority FROM pages WHERE key = ?"
ABOVE = """WITH RECURSIVE way (id, parent) AS (SELECT id, parent FROM pages WHERE id = ?
UNION SELECT p.id, p.parent FROM pages p JOIN way ON p.id = way.parent) SELECT 1 FROM way WHERE id = ?"""
RENEW = """UPDATE pages SET url = ?, canonical = ?, method = ?, body = ?, headers = ?, query = ?, host = ?, data = ?,
parent = ?, depth = ?, lastmod = ?, led = 1 WHERE id = ?"""
DUE = "UPDATE pages SET state = 'pending', due_at = ?, lost = 0, reason = NULL WHERE id = ?"
NEW_ROUND = "UPDATE pages SET round = ?, failures = 0, rereads = 0 WHERE id = ?"
ANCESTOR = "SELECT id, host, state, led, parent, priority FROM pages WHERE id = ?"
WAIT = "UPDATE pages SET state = 'held', reason = 'token' WHERE id = ?"
ASK_AGAIN = """UPDATE pages SET state = 'pending', due_at = ?, failures = 0, lost = 0, etag = NULL, modified = NULL
WHERE id = ?"""
LOST = """UPDATE pages SET state = 'dead', reason = 'failed',
error = 'its token was refused, and no page leads to it any more' WHERE state = 'held' AND reason = 'token'"""


class _Known(NamedTuple):
    id: int
    host: int
    state: str
    round: int
    open: int
    due_at: int
    priority: int


class _Ancestor(NamedTuple):
    id: int
    host: int
    state: str
    led: int
    parent: int | None
    priority: int


def renew(db: Database, found: Iterable[Discovery], rules: HostRules, now: int, round_: int) -> list[Op]:
    """Give known places their newest URL, inside the caller's transaction; returns the ops of those due again.

    The page before wins while the place is not done; one that was done in this round stays. A page that is itself found
    by way of the place (a link back) has no say, so that the way back to a lasting URL has no circle.
    """
    ops: list[Op] = []
    for d in found:
        row = _Known(*db.rows(KNOWN, (d.key,))[0])
        old = row.round < round_
        again = row.state != "pending" and (row.state == "held" or old)
        if not (again or row.state == "pending") or db.one(ABOVE, (d.parent, row.id)):
            continue
        ids, made = hosts.ensure(db, [(d.address, d.widens)], rules, now, round_)
        host = ids[(d.address.scheme, d.address.name, d.address.port)]
        ops += made
        if row.open and host != row.host:
            continue  # in flight: what is in hand there decides
        db.run(
            RENEW,
            (d.address.url, d.address.canonical, d.method, d.body, d.headers, d.query, host, d.data, d.parent,
             d.depth, d.lastmod, row.id),
        )  # fmt: skip
        if old:
            db.run(NEW_ROUND, (round_, row.id))
        if again:
            db.run(DUE, (now, row.id))
        if host != row.host:
            ops.append(("k", row.id, row.host, NOBODY))
        if again or host != row.host:
            ops.append(("n", row.id, row.id, host, now, shift(row.priority)))
    return ops


def go_back(db: Database, page: int, now: int, scale: float) -> list[Op] | None:
    """Hold the place until its way is found again; the nearest page with a lasting URL is due.

    Returns the ops, the page's own left out; None when nothing leads to it, or was asked to too often in this round.
    """
    way = [page]
    above = _above(db, page)
    while above is not None and above.led and above.state in ("done", "alias"):
        way.append(above.id)
        above = _above(db, above.id)
    if above is None or above.state not in ("pending", "held", "done", "alias"):
        return None
    on_its_way = above.state in ("pending", "held")
    due = now if on_its_way else rereading.later(db, above.id, now, scale)
    if due is None:
        return None
    db.many(WAIT, [(each,) for each in way])
    if on_its_way:
        return []
    db.run(ASK_AGAIN, (due, above.id))
    return [("r", above.id, above.id, above.host, due, shift(above.priority))]


def _above(db: Database, page: int) -> _Ancestor | None:
    parent = db.value("SELECT parent FROM pages WHERE id = ?", (page,))
    found = db.one(ANCESTOR, (parent,)) if parent else None
    return _Ancestor(*found) if found else None


def give_up(db: Database) -> None:
    """Nothing is pending, so nobody will lead to what is still held: it is dead. Inside the caller's transaction."""
    db.run(LOST)
