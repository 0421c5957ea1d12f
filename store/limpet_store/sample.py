"""A sample of a crawl: a share of the pages that lead no further is visited, the others are held until asked for.

Which ones it is follows from their keys, so it is the same after a restart, and a larger share holds the smaller one.
"""

from __future__ import annotations

from limpet_store import outbox, pages
from limpet_store.admission import chosen
from limpet_store.outbox import Entry
from limpet_store.store import Store

CHUNK = 1_000  # pages let go in one transaction
HELD = """SELECT id, key, host, priority FROM pages WHERE state = 'held' AND reason = 'sample' AND id > ?
ORDER BY id LIMIT ?"""


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
            with store.db.write():
                store.check_identity()
                rows = [(page, host, priority) for page, _, host, priority in free]
                ops = pages.let_go(store.db, rows, now, store.open_round("sample", now))
                if ops:
                    outbox.append(store.db, [Entry("sample", ops)], now)
                count += len(ops)
    return count
