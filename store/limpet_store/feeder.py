"""The feeder: brings pages from SQL into the frontier as their due times enter the horizon.

It moves the horizon's mark by an outbox row, like everything else that changes the frontier, so a kill between
the read and the row loses nothing: the next feeder starts from the mark that stands.
"""

from __future__ import annotations

from limpet_store import outbox
from limpet_store.ops import NOBODY, Op, shift
from limpet_store.outbox import Entry
from limpet_store.retry import HORIZON, LONGEST
from limpet_store.store import Store

DUE = """SELECT id, host, due_at, priority FROM pages
WHERE state = 'pending' AND ((due_at > ? AND due_at <= ?) OR due_at > ?) ORDER BY id"""


def feed(store: Store, fed: int, now: int) -> int:
    """Write the rows that move the horizon from `fed` to `now` + 1 h (ms); returns how many pages enter it.

    Does nothing while more than half of the horizon is left, or while there is no mark: a rebuild sets it.
    """
    if not fed or fed - now > HORIZON // 2:
        return 0
    mark = now + HORIZON
    with store.db.write():
        store.check_identity()
        rows = store.db.rows(DUE, (fed, mark, now + LONGEST))
        # The mark goes first: a page is let in only up to the horizon that stands.
        ops: list[Op] = [("f", mark)]
        ops += [("p", page, host, NOBODY, due, shift(priority)) for page, host, due, priority in rows]
        outbox.append(store.db, [Entry("feed", ops)], now)
    return len(rows)
