"""Pages that sitemaps list with a `lastmod`, on a site that trusts it: the listing says which are due in a round.

A refresh leaves them alone. A listing makes them due, unless it says what it said before they were last read and that
moment was over then; those it notes as seen to (`round`). What no sitemap has spoken of in the end, since it is not
listed any more or its sitemap failed, is made due as ever (`rounds.rest`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from limpet_store.admission import Discovery
from limpet_store.database import Database
from limpet_store.ops import Op, ranges, shift

ROUND = "SELECT number, fence FROM rounds ORDER BY number DESC LIMIT 1"
KNOWN = """SELECT id, key, host, priority, state, open, fence, status, lastmod, code, attempted_at
FROM pages WHERE id <= ? AND key IN ({})"""
SEEN_TO = "UPDATE pages SET round = ? WHERE id = ?"
SAID = "UPDATE pages SET lastmod = ? WHERE id = ?"
DUE = """UPDATE pages SET state = 'pending', due_at = ?, round = ?, failures = 0, rereads = 0, lost = 0,
reason = NULL, error = NULL, lastmod = ? WHERE id = ?"""
FORGET = "UPDATE pages SET lastmod = NULL WHERE id = ?"
SETTLED = frozenset({"done", "alias", "dead", "gone"})
CHUNK = 500  # keys in one look-up
SKEW = 3_600_000  # ms that the site's clock may be off
ANYWHERE = timedelta(hours=12)  # a time without an offset is over everywhere so much later
_MOMENT = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?)?)?"
)


class _Known(NamedTuple):
    id: int
    key: str
    host: int
    priority: int
    state: str
    open: int
    fence: int
    status: int | None
    lastmod: str | None
    code: str | None
    attempted_at: int | None


def settle(db: Database, found: Sequence[Discovery], top: int, now: int) -> list[Op]:
    """Decide for the listed pages that had a row before this transaction (ids up to `top`); returns the ops of those
    due now. What was asked for in this round already is not asked for again."""
    number, began = db.rows(ROUND)[0]
    said: dict[str, Discovery] = {d.key: d for d in found}
    seen_to: list[tuple[object, ...]] = []
    notes: list[tuple[object, ...]] = []
    due: list[_Known] = []
    for row in _known(db, list(said), top):
        lastmod = said[row.key].lastmod
        if row.state == "pending" or row.fence > began:
            if row.lastmod != lastmod and (_is_to_be_read(row) or _was_read_after(row, lastmod)):
                notes.append((lastmod, row.id))
        elif _unchanged(row, said[row.key]):
            seen_to.append((number, row.id))
        elif row.state in SETTLED:
            due.append(row)
    db.many(SEEN_TO, seen_to)
    db.many(SAID, notes)
    db.many(DUE, [(now, number, said[row.key].lastmod, row.id) for row in due])
    return ranges("r", ((row.id, row.host, now, shift(row.priority)) for row in sorted(due)))


def _known(db: Database, keys: Sequence[str], top: int) -> list[_Known]:
    found: list[_Known] = []
    for at in range(0, len(keys), CHUNK):
        some = keys[at : at + CHUNK]
        found += [_Known(*row) for row in db.rows(KNOWN.format(",".join("?" * len(some))), (top, *some))]
    return found


def _unchanged(row: _Known, said: Discovery) -> bool:
    """Whether the page as it was last read is the one that is listed. It was read well, by today's code, after it was
    said to be of this moment, and after that moment: within a day, a date may stay the same and the page not."""
    if said.lastmod is None or row.lastmod != said.lastmod or (row.status or 0) >= 400:
        return False
    read_now = row.state == "alias" or (row.state == "done" and row.code == said.code)
    return read_now and row.attempted_at is not None and ends(said.lastmod) <= row.attempted_at


def _is_to_be_read(row: _Known) -> bool:
    return row.state == "pending" and not row.open


def _was_read_after(row: _Known, lastmod: str | None) -> bool:
    """Whether the newest request went out long after the moment, whatever the site's clock."""
    return bool(lastmod and row.attempted_at and ends(lastmod) + SKEW <= row.attempted_at)


def forget(db: Database, page: int) -> None:
    """This page leads to others whose time it decides, so it is read in each round."""
    db.run(FORGET, (page,))


def ends(lastmod: str) -> int:
    """When the moment that a W3C date or time names is over, wherever it was written; ms since 1970.

    Raises ValueError for what is none.
    """
    found = _MOMENT.fullmatch(lastmod)
    if found is None:
        raise ValueError(f"no W3C date: {lastmod[:40]!r}")
    year, month, day, time, seconds, offset = found.groups()
    if time is not None:
        at = datetime.fromisoformat(lastmod) + timedelta(seconds=1 if seconds else 60)
        return _ms(at if offset else at.replace(tzinfo=UTC) + ANYWHERE)
    at = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
    if day is not None:
        return _ms(at + timedelta(days=1) + ANYWHERE)
    at = at.replace(year=at.year + 1) if month is None else (at + timedelta(days=31)).replace(day=1)
    return _ms(at + ANYWHERE)


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
