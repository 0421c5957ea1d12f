"""Pages: new rows for what was discovered, in the discoverer's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from limpet_store import hosts, listed, positions
from limpet_store.admission import Discovery, HostRules, chosen
from limpet_store.database import Database
from limpet_store.ops import Op, ranges, shift

INSERT = """INSERT INTO pages
(key, kind, url, canonical, method, body, headers, query, host, handler, data, merges, led, lastmod, parent, depth,
  hops, priority, state, reason, due_at, round)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO NOTHING"""
SAMPLE = "SELECT sample FROM meta"
NEW = "SELECT id, host, due_at, priority FROM pages WHERE id > ? AND kind <> 'robots' AND state = 'pending' ORDER BY id"
KNOWN = "SELECT key FROM pages WHERE key IN ({})"
LEFT_OUT = "SELECT id, host, priority FROM pages WHERE state = 'held' AND reason = 'sample' AND key IN ({})"
LET_GO = """UPDATE pages SET state = 'pending', reason = NULL, due_at = ?, round = ?
WHERE id = ? AND state = 'held' AND reason = 'sample'"""
CHUNK = 500  # keys in one look-up


def unknown(db: Database, found: Sequence[Discovery]) -> list[Discovery]:
    """Those without a row; the INSERT stays the arbiter."""
    known: set[str] = set()
    for at in range(0, len(found), CHUNK):
        keys = [discovery.key for discovery in found[at : at + CHUNK]]
        known.update(key for (key,) in db.rows(KNOWN.format(",".join("?" * len(keys))), keys))
    return [discovery for discovery in found if discovery.key not in known]


def left_out(db: Database, found: Sequence[Discovery]) -> list[tuple[int, int, int]]:
    """(id, host, priority) of those that a sample has left out."""
    rows: list[tuple[int, int, int]] = []
    for at in range(0, len(found), CHUNK):
        keys = [discovery.key for discovery in found[at : at + CHUNK]]
        rows += db.rows(LEFT_OUT.format(",".join("?" * len(keys))), keys)
    return rows


def let_go(db: Database, rows: Iterable[tuple[int, int, int]], now: int, round_: int) -> list[Op]:
    """Make due those that are held by a sample still, inside the caller's transaction; returns an op for each."""
    freed = [(page, host, now, shift(priority)) for page, host, priority in rows
             if db.run(LET_GO, (now, round_, page))]  # fmt: skip
    return [("n", page, page, host, due, moved) for page, host, due, moved in freed]


def insert(db: Database, found: Iterable[Discovery], rules: HostRules, now: int, round_: int) -> list[Op]:
    """Rows for new pages and the ops that bring them to the frontier, inside the caller's transaction.

    A page that has a row by now is left alone: the first discovery wins, except at a place in a listing
    (`positions`), and where a sitemap says when it is due (`listed`). Ids made in one write transaction are
    consecutive, since it is the only writer.
    """
    found = list(found)
    if not found:
        return []
    if any(d.held for d in found):  # whoever said so may have read an older share
        share = db.value(SAMPLE)
        found = [_let_in(d, share) if d.held else d for d in found]
    ids, ops = hosts.ensure(db, ((d.address, d.widens) for d in found), rules, now, round_)
    top = db.value("SELECT coalesce(max(id), 0) FROM pages")
    # Of a long list most are known in a later round, and asking costs a tenth of a refused INSERT.
    new = unknown(db, found) if len(found) > CHUNK else found
    db.many(INSERT, (_row(d, ids, now, round_) for d in new))
    ops += ranges(
        "n", ((page, host, due, shift(priority)) for page, host, due, priority in db.rows(NEW, (top,)))
    )
    if led := [d for d in found if d.position]:
        ops += positions.renew(db, led, rules, now, round_)
    if told := [d for d in found if d.code is not None]:
        ops += listed.settle(db, told, top, now)
    return ops


def _let_in(d: Discovery, share: float | None) -> Discovery:
    return replace(d, held=None) if share is None or chosen(d.key, share) else d


def _row(d: Discovery, ids: dict[tuple[str, str, int], int], now: int, round_: int) -> tuple[object, ...]:
    address = d.address
    host = ids[(address.scheme, address.name, address.port)]
    return (
        d.key, d.kind, address.url, address.canonical, d.method, d.body, d.headers, d.query, host, d.handler, d.data,
        int(bool(d.handed)), int(d.position), d.lastmod, d.parent, d.depth, d.hops, d.priority,
        "held" if d.held else "pending", d.held, now, round_,
    )  # fmt: skip
