"""Visits that other pages ask for within a round: with more data for a page, or for a new way to a place.

They come later and later, so that what changes meanwhile is seen together. After many a page waits until nothing else
is left to do, and is read with all of it; and pages that go on changing each other come to an end.
"""

from __future__ import annotations

from limpet_store.database import Database
from limpet_store.ops import Op, shift

MOST = 20  # such visits of one page in one round before it waits
LAST = 5  # more of them, each when nothing else is left to do
FIRST, LONGEST = 1_000, 30_000  # ms before the second, and the longest
COUNT = (
    "UPDATE pages SET rereads = rereads + 1 WHERE id = ? AND rereads < ? RETURNING rereads, host, priority"
)
DUE = """UPDATE pages SET state = 'pending', due_at = ?, failures = 0, lost = 0, reason = NULL, etag = NULL,
modified = NULL WHERE id = ?"""
WAIT = "UPDATE pages SET state = 'held', reason = 'data', etag = NULL, modified = NULL WHERE id = ?"
WAITING = "SELECT id, host, priority FROM pages WHERE state = 'held' AND reason = 'data' ORDER BY id LIMIT ?"
REJECT = """INSERT OR REPLACE INTO rejections (page, n, type, key, field, reason, value, at)
VALUES (?, ?, '', '', '', ?, '', ?)"""
NUMBER = 1_000_000  # of this rejection, behind those of the page's own
RESTLESS = f"read {MOST + LAST} times more in this round, and what is handed down to it still changes"


def later(db: Database, page: int, now: int, scale: float) -> int | None:
    """Count one more visit of the page; when it is due (ms), or None when there were enough."""
    found = db.rows(COUNT, (page, MOST))
    return now + _wait(found[0][0], scale) if found else None


def again(db: Database, page: int, nonce: str, now: int, scale: float) -> Op | None:
    """Let a page be read once more, later or last; the op that says so (`nonce`: a lease that it may end). None when it
    stays as it is, which is said where rejections are."""
    found = db.rows(COUNT, (page, MOST + LAST))
    if not found:
        reject(db, page, RESTLESS, now)
        return None
    count, host, priority = found[0]
    if count > MOST:
        db.run(WAIT, (page,))
        return ("k", page, host, nonce)
    due = now + _wait(count, scale)
    db.run(DUE, (due, page))
    return ("p", page, host, nonce, due, shift(priority))


def _wait(count: int, scale: float) -> int:
    return round(min(FIRST << (count - 2), LONGEST) * scale) if count > 1 else 0


def waiting(db: Database, most: int) -> list[tuple[int, int, int]]:
    """Up to so many pages that wait for nothing else to be left: (id, host, priority)."""
    return db.rows(WAITING, (most,))


def reject(db: Database, page: int, why: str, now: int) -> None:
    """Say of a page what no extraction of its own can say."""
    db.run(REJECT, (page, NUMBER, why, now))
