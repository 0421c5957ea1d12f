"""A sample of a crawl: a share of the pages that lead no further is visited, the others are held until asked for.

Which ones it is follows from their keys, so it is the same after a restart, and a larger share holds the smaller one.
"""

from __future__ import annotations

import hashlib

from limpet_store import outbox
from limpet_store.ops import Op, shift
from limpet_store.outbox import Entry
from limpet_store.store import Store

CHUNK = 1_000  # pages let go in one transaction
HELD = """SELECT id, key, host, priority FROM pages WHERE state = 'held' AND reason = 'sample' AND id > ?
ORDER BY id LIMIT ?"""
LET_GO = "UPDATE pages SET state = 'pending', reason = NULL, due_at = ?, round = ? WHERE id = ?"


def chosen(key: str, share: float) -> bool:
    """Whether the page of this key is in a sample of `share` (0 to 1)."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])
    return number < share * 2**64


def share(store: Store) -> float | None:
    """The share of this crawl's present sample; None: all pages are visited."""
    found: float | None = store.db.value("SELECT sample FROM meta")
    return found


def choose(store: Store, wanted: float | None, now: int) -> int:
    """Make this the crawl's sample; pages that were held and are in it are due. Returns how many those are.

    Killed on the way, it goes on when it is called again.
    """
    if share(store) != wanted:
        with store.db.write():
            store.check_identity()
            store.db.run("UPDATE meta SET sample = ?", (wanted,))
    last = count = 0
    while rows := store.db.rows(HELD, (last, CHUNK)):
        last = rows[-1][0]
        free = [row for row in rows if wanted is None or chosen(row[1], wanted)]
        if free:
            _let_go(store, [(page, host, priority) for page, _, host, priority in free], now)
        count += len(free)
    return count


def _let_go(store: Store, pages: list[tuple[int, int, int]], now: int) -> None:
    with store.db.write():
        store.check_identity()
        round_ = store.open_round("sample", now)
        store.db.many(LET_GO, [(now, round_, page) for page, _, _ in pages])
        ops: list[Op] = [("n", page, page, host, now, shift(priority)) for page, host, priority in pages]
        outbox.append(store.db, [Entry("sample", ops)], now)
