"""Data that several parents hand down to one page: kept by parent, shown to the page as one list.

What each parent says is replaced when it is visited again, so the list follows the site. A page that was read with
another list is read again: the record it gives holds all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from limpet_store import rereading
from limpet_store.admission import Discovery, listed
from limpet_store.content import canonical_json
from limpet_store.database import Database
from limpet_store.ops import NOBODY, Op

MOST = 262_144  # characters of what one page collects

BY_PARENT = "SELECT page, data FROM handed WHERE parent = ?"
OF_PAGE = "SELECT data FROM handed WHERE page = ?"
PUT = "INSERT OR REPLACE INTO handed (page, parent, data) VALUES (?, ?, ?)"
DROP = "DELETE FROM handed WHERE page = ? AND parent = ?"
CHILD = "SELECT data, state, merges FROM pages WHERE id = ?"
COLLECTED = "UPDATE pages SET data = ?, merges = 1, etag = NULL, modified = NULL WHERE id = ?"


def collect(
    db: Database, parent: int, found: Iterable[Discovery], now: int, scale: float, *, whole: bool = True
) -> list[Op]:
    """Take over what this page hands down now, inside its transaction; returns the ops of the children that are due
    again because of it. What it no longer hands down is taken away, if what was found is the `whole`.
    """
    wanted = {page_id(db, d.key): listed(d.handed) for d in found if d.handed}
    before: dict[int, str] = dict(db.rows(BY_PARENT, (parent,)))
    looked_at = wanted.keys() | before.keys() if whole else wanted.keys()
    changed = {page for page in looked_at if wanted.get(page) != before.get(page)}
    db.many(PUT, [(page, parent, wanted[page]) for page in changed & wanted.keys()])
    db.many(DROP, [(page, parent) for page in changed - wanted.keys()])
    return [op for page in sorted(changed) for op in _settle(db, page, now, scale)]


def page_id(db: Database, key: str) -> int:
    """The id of a page that has a row."""
    return int(db.value("SELECT id FROM pages WHERE key = ?", (key,)))


def _settle(db: Database, page: int, now: int, scale: float) -> Sequence[Op]:
    data, state, merges = db.rows(CHILD, (page,))[0]
    together = listed(text for (row,) in db.rows(OF_PAGE, (page,)) for text in _each(row))
    if together == data:
        if not merges:  # its first parent made it so
            db.run(COLLECTED, (together, page))
        return ()
    if len(together) > MOST:
        rereading.reject(
            db, page, f"more than {MOST} characters are handed down to it: it keeps what it had", now
        )
        return ()
    db.run(COLLECTED, (together, page))
    if state not in ("done", "alias"):
        return ()  # one that is pending will be read with the list; the dead and gone come with the next round
    op = rereading.again(db, page, NOBODY, now, scale)
    return (op,) if op else ()


def _each(row: str) -> list[str]:
    return [canonical_json(value) for value in json.loads(row)]
