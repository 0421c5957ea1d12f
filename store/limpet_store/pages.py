"""Pages: new rows for what was discovered, in the discoverer's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from limpet_store import hosts, listed, positions
from limpet_store.admission import Discovery, HostRules
from limpet_store.database import Database
from limpet_store.ops import Op, ranges, shift

INSERT = """INSERT OR IGNORE INTO pages
(key, kind, url, canonical, method, body, headers, query, host, handler, data, merges, led, lastmod, parent, depth,
  hops, priority, state, reason, due_at, round)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
NEW = "SELECT id, host, due_at, priority FROM pages WHERE id > ? AND kind <> 'robots' AND state = 'pending' ORDER BY id"
KNOWN = "SELECT key FROM pages WHERE key IN ({})"
CHUNK = 500  # keys in one look-up


def unknown(db: Database, found: Sequence[Discovery]) -> list[Discovery]:
    """Those without a row; the INSERT stays the arbiter."""
    known: set[str] = set()
    for at in range(0, len(found), CHUNK):
        keys = [discovery.key for discovery in found[at : at + CHUNK]]
        known.update(key for (key,) in db.rows(KNOWN.format(",".join("?" * len(keys))), keys))
    return [discovery for discovery in found if discovery.key not in known]


def insert(db: Database, found: Iterable[Discovery], rules: HostRules, now: int, round_: int) -> list[Op]:
    """Rows for new pages and the ops that bring them to the frontier, inside the caller's transaction.

    A page that has a row by now is left alone: the first discovery wins, except at a place in a listing
    (`positions`), and where a sitemap says when it is due (`listed`). Ids made in one write transaction are
    consecutive, since it is the only writer.
    """
    found = list(found)
    if not found:
        return []
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


def _row(d: Discovery, ids: dict[tuple[str, str, int], int], now: int, round_: int) -> tuple[object, ...]:
    address = d.address
    host = ids[(address.scheme, address.name, address.port)]
    return (
        d.key, d.kind, address.url, address.canonical, d.method, d.body, d.headers, d.query, host, d.handler, d.data,
        int(bool(d.handed)), int(d.position), d.lastmod, d.parent, d.depth, d.hops, d.priority,
        "held" if d.held else "pending", d.held, now, round_,
    )  # fmt: skip
