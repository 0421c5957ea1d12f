"""Visits that other pages ask for within a round: with more data for a page, or for a new way to a place.

They come later and later, so that what changes meanwhile is seen together, and they end: pages that go on changing each
other would keep a crawl for ever.
"""

from __future__ import annotations

from limpet_store.database import Database

MOST = 20  # such visits of one page in one round
FIRST, LONGEST = 1_000, 30_000  # ms before the second, and the longest
COUNT = "UPDATE pages SET rereads = rereads + 1 WHERE id = ? AND rereads < ?"
COUNTED = "SELECT rereads FROM pages WHERE id = ?"
GAVE_UP = """INSERT OR REPLACE INTO rejections (page, n, type, key, field, reason, value, at)
VALUES (?, ?, '', '', '', ?, '', ?)"""
LAST = 1_000_000  # the number of this rejection, behind those of the page's own
WHY = f"read {MOST} times more in this round, and what is handed down to it still changes"


def due(db: Database, page: int, now: int, scale: float) -> int | None:
    """Count one more visit of the page; when it is due (ms), or None when there were enough."""
    if not db.run(COUNT, (page, MOST)):
        return None
    before = int(db.value(COUNTED, (page,))) - 1
    return now + (round(min(FIRST << (before - 1), LONGEST) * scale) if before else 0)


def give_up(db: Database, page: int, now: int) -> None:
    """Leave the page as it was read, and say so where rejections are."""
    db.run(GAVE_UP, (page, LAST, WHY, now))
