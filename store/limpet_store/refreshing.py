"""Pages that are due again by themselves, each after its period: no round and no command is needed for it.

A page's slots lie a period apart, from a point that its key decides. So the pages of a crawl are spread over the
period however close together they were first fetched, and a page is never older than its period where the pool keeps
up. Until then they wait in SQL alone: `refresh_at` of a finished page.
"""

from __future__ import annotations

from limpet_store import outbox
from limpet_store.database import Database
from limpet_store.ops import Op, ranges, shift
from limpet_store.outbox import Entry
from limpet_store.periods import Periods, next_at
from limpet_store.store import Store

CHUNK = 1_000  # pages in one transaction
FINISHED = "state IN ('done', 'alias', 'dead', 'gone')"
DUE = f"""SELECT id, host, priority, {FINISHED} FROM pages
WHERE refresh_at <= ? ORDER BY refresh_at LIMIT {CHUNK}"""
FAR = f"SELECT id, host, priority, {FINISHED} FROM pages WHERE refresh_at > ? LIMIT {CHUNK}"
SOONEST = "SELECT min(refresh_at) FROM pages WHERE refresh_at IS NOT NULL"
AGAIN = """UPDATE pages SET state = 'pending', due_at = ?, refresh_at = NULL, failures = 0, rereads = 0, lost = 0,
reason = NULL, error = NULL WHERE id = ?"""
# One that is pending gets its next time when it is finished.
LATER = "UPDATE pages SET refresh_at = NULL WHERE id = ?"
SET = "UPDATE pages SET refresh_at = ? WHERE id = ?"
# What somebody has decided about stays as it was decided.
SCHEDULED = f"""SELECT id, key, handler, canonical, refresh_at FROM pages NOT INDEXED
WHERE id > ? AND kind = 'page' AND led = 0 AND forgotten = 0 AND {FINISHED}
AND (reason IS NULL OR reason NOT IN ('robots', 'excluded')) ORDER BY id LIMIT {CHUNK}"""


def soonest(db: Database) -> int | None:
    """When the next page is due again by itself."""
    found: int | None = db.value(SOONEST)
    return found


def make_due(store: Store, now: int, longest: int) -> int:
    """Make pending whatever is due again by itself, in chunks; returns how many pages. May be killed and repeated.

    One that is due later than in `longest` ms stems from a clock that was set back, and counts as due.
    """
    count = 0
    while store.db.one(DUE, (now,)) or store.db.one(FAR, (now + longest,)):
        with store.db.write():
            store.check_identity()
            rows = store.db.rows(DUE, (now,)) or store.db.rows(FAR, (now + longest,))
            again = sorted(row[:3] for row in rows if row[3])
            store.db.many(LATER, [(page,) for page, _, _, finished in rows if not finished])
            store.db.many(AGAIN, [(now, page) for page, _, _ in again])
            ops: list[Op] = ranges("r", ((page, host, now, shift(prio)) for page, host, prio in again))
            if ops:
                outbox.append(store.db, [Entry("refresh", ops)], now)
        count += len(again)
    return count


def reschedule(store: Store, periods: Periods, now: int) -> int:
    """Take over what the site says of periods by now, for pages that are finished; returns how many changed.

    Chunk by chunk; what was said is noted last, so a killed call is repeated.
    """
    if (store.db.value("SELECT periods FROM meta") or "") == periods.said:
        return 0
    count = after = 0
    while rows := store.db.rows(SCHEDULED, (after,)):
        after = rows[-1][0]
        times = [
            (_next(key, periods.of(handler, url), at, now), at, page) for page, key, handler, url, at in rows
        ]
        changed = [(new, page) for new, at, page in times if new != at]
        if changed:
            with store.db.write():
                store.check_identity()
                store.db.many(SET, changed)
        count += len(changed)
    with store.db.write():
        store.check_identity()
        store.db.run("UPDATE meta SET periods = ?", (periods.said or None,))
    return count


def _next(key: str, period: int, at: int | None, now: int) -> int | None:
    """One that is due stays so."""
    return at if period and at is not None and at <= now else next_at(key, period, now)
