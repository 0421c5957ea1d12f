"""The scope grows when a seed turns out to live on another host. Sitemaps that left out what is in scope by now are
read again: they may be long, and the next round may be far."""

from __future__ import annotations

from limpet_store.database import Database
from limpet_store.ops import Op, ranges, shift

IN_SCOPE = "SELECT count(*) FROM hosts WHERE scope = 1"
LEFT_OUT = """SELECT id, host, priority FROM pages
WHERE kind = 'sitemap' AND state IN ('done', 'alias') AND instr(dropped, '"out of scope"') ORDER BY id"""
DUE = "UPDATE pages SET state = 'pending', due_at = ?, failures = 0, lost = 0, reason = NULL WHERE id = ?"


def size(db: Database) -> int:
    """How many hosts are in scope; it never shrinks."""
    return int(db.value(IN_SCOPE))


def read_again(db: Database, now: int) -> list[Op]:
    """Make due the sitemaps that left something out, inside the transaction that widens the scope."""
    rows = db.rows(LEFT_OUT)
    db.many(DUE, [(now, page) for page, _, _ in rows])
    return ranges("r", ((page, host, now, shift(priority)) for page, host, priority in rows))
