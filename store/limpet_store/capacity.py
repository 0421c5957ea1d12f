"""How many pages of one host there may be: exact over any number of workers, since it is asked inside the transaction
that adds pages.

What there is is counted, never kept beside the data: a connection remembers a host's count up to a page id, in a
table of its own that is rolled back with the transaction, and counts what came after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from limpet_store.admission import Discovery, HostRules
from limpet_store.database import Database
from limpet_store.outcome import Outcome

TOO_MANY = "too many pages of its host"
CHUNK = 500  # keys in one look-up
TABLE = """CREATE TEMP TABLE IF NOT EXISTS counted
(host INTEGER PRIMARY KEY, life TEXT NOT NULL, top INTEGER NOT NULL, pages INTEGER NOT NULL)"""
HOST = "SELECT id FROM hosts WHERE scheme = ? AND name = ? AND port = ?"
COUNTED = "SELECT top, pages FROM temp.counted WHERE host = ? AND life = (SELECT store_id FROM meta)"
COUNT = """SELECT count(*), coalesce(max(id), ?) FROM pages INDEXED BY pages_of_host
WHERE kind = 'page' AND host = ? AND id > ?"""
EXCLUDED = """SELECT count(*) FROM pages INDEXED BY pages_excluded
WHERE state = 'dead' AND reason = 'excluded' AND host = ?"""
REMEMBER = "INSERT OR REPLACE INTO temp.counted SELECT ?, store_id, ?, ? FROM meta"
KNOWN = "SELECT key FROM pages WHERE key IN ({})"


def within(db: Database, outcome: Outcome, rules: HostRules) -> Outcome:
    """The outcome without the pages for which there is no room on their hosts; they are counted as dropped."""
    if rules.max_pages is None or not outcome.discoveries:
        return outcome
    kept, left = fit(db, outcome.discoveries, rules.max_pages)
    if not left:
        return outcome
    dropped = Counter(outcome.dropped) + Counter({TOO_MANY: len(left)})
    return replace(outcome, discoveries=kept, dropped=dict(dropped))


def fit(db: Database, found: Sequence[Discovery], most: int) -> tuple[list[Discovery], list[Discovery]]:
    """Those that are known or for which there is room, and the others; inside the transaction that adds them."""
    wanted = Counter(_origin(d) for d in found if d.kind == "page")
    room = {origin: most - _count(db, origin) for origin in wanted}
    for origin in wanted:
        if room[origin] < wanted[origin]:
            room[origin] += _excluded(db, origin)
    if all(room[origin] >= count for origin, count in wanted.items()):
        return list(found), []
    known = _known(db, [d for d in found if d.kind == "page"])
    kept, left = [], []
    for d in found:
        if d.kind == "page" and d.key not in known:
            room[_origin(d)] -= 1
            if room[_origin(d)] < 0:
                left.append(d)
                continue
        kept.append(d)
    return kept, left


def _origin(d: Discovery) -> tuple[str, str, int]:
    return d.address.scheme, d.address.name, d.address.port


def _known(db: Database, found: Sequence[Discovery]) -> set[str]:
    keys = [d.key for d in found]
    chunks: Iterable[list[str]] = (keys[at : at + CHUNK] for at in range(0, len(keys), CHUNK))
    return {key for part in chunks for (key,) in db.rows(KNOWN.format(",".join("?" * len(part))), part)}


def _excluded(db: Database, origin: tuple[str, str, int]) -> int:
    """How many pages of a host the site file does not want any more; they take no room."""
    host = db.one(HOST, origin)
    return int(db.value(EXCLUDED, host)) if host else 0


def _count(db: Database, origin: tuple[str, str, int]) -> int:
    """How many pages of a host there are by now."""
    host = db.one(HOST, origin)
    if host is None:
        return 0
    db.run(TABLE)
    top, before = db.one(COUNTED, host) or (0, 0)
    since, newest = db.rows(COUNT, (top, *host, top))[0]
    if since:
        db.run(REMEMBER, (*host, newest, before + since))
    return int(before + since)
