"""Forgetting: a page is not visited any more, whoever finds it again, and what only it gave is gone.

It stays known, as dead and `forgotten`: a page without a row would be discovered anew. An attempt looks at that before
all else, so whatever makes such a page due again comes to no request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from limpet_store import handed, outbox, records
from limpet_store.failures import FORGOTTEN
from limpet_store.ops import Op, ranges, shift
from limpet_store.outbox import Entry
from limpet_store.records import Seen
from limpet_store.store import Store

CHUNK = 100  # pages in one transaction
NAMED = "SELECT id FROM pages WHERE kind = 'page' AND forgotten = 0 AND key = ?"
FITTING = """SELECT id FROM pages NOT INDEXED WHERE id > ? AND kind = 'page' AND forgotten = 0
AND (url GLOB ? OR canonical GLOB ?) ORDER BY id LIMIT ?"""
READ = "SELECT id, host, canonical, fence, state, error FROM pages WHERE id = ? AND forgotten = 0"
FORGET = f"""UPDATE pages SET forgotten = 1, state = 'dead', reason = '{FORGOTTEN}', error = NULL, open = 0,
refresh_at = NULL, failures = 0, rereads = 0, lost = 0, etag = NULL, modified = NULL, missed = NULL, missed_at = NULL,
dropped = NULL WHERE id = ?"""
KNOWN = "SELECT id, host, priority FROM pages WHERE forgotten = 1 AND key IN ({})"
TAKE_BACK = """UPDATE pages SET forgotten = 0, state = 'pending', reason = NULL, due_at = ?, round = ?
WHERE id = ? AND forgotten = 1"""


@dataclass(slots=True)
class Forgotten:
    """What came of it: pages, messages, and where pages lead that were redirected."""

    pages: int = 0
    messages: int = 0
    led_to: list[tuple[str, str]] = field(default_factory=list)


def named(store: Store, key: str) -> list[int]:
    """The page of this key, the canonical URL of most, if there is one that is not forgotten yet."""
    return [page for (page,) in store.db.rows(NAMED, (key,))]


def fitting(store: Store, pattern: str) -> Iterator[int]:
    """Pages whose whole URL fits the pattern, in which `*` stands for anything and `?` for one character. Reads all
    pages once."""
    glob, last = pattern.replace("[", "[[]"), 0
    while rows := store.db.rows(FITTING, (last, glob, glob, CHUNK)):
        for (last,) in rows:
            yield last


def forget(store: Store, pages: Iterable[int], *, now: int) -> Forgotten:
    """Forget these pages, in transactions of a hundred; may be killed and repeated.

    One that is in flight is finished for nothing: its outcome is refused. A record that another page gives too stays.
    """
    done = Forgotten()
    wanted = list(dict.fromkeys(pages))
    for at in range(0, len(wanted), CHUNK):
        with store.db.write():
            store.check_identity()
            entries = [
                entry for page in wanted[at : at + CHUNK] if (entry := _forget(store, page, now, done))
            ]
            outbox.append(store.db, entries, now)
        done.pages += len(entries)
    return done


def _forget(store: Store, page: int, now: int, done: Forgotten) -> Entry | None:
    found = store.db.one(READ, (page,))
    if found is None:
        return None
    _, host, canonical, fence, state, error = found
    if state == "alias" and error:
        done.led_to.append((canonical, error))
    entry = Entry("forget")
    entry.ops += handed.collect(store.db, page, (), now, 1.0)
    entry.messages += records.remove_page(store.db, store.source, Seen(page, canonical, fence, now))
    store.db.run("DELETE FROM rejections WHERE page = ?", (page,))
    store.db.run(FORGET, (page,))
    entry.ops.append(("k", page, host, ""))
    done.messages += len(entry.messages)
    return entry


def take_back(store: Store, keys: Iterable[str], *, now: int) -> int:
    """Let pages of these keys be visited again; returns how many were forgotten."""
    wanted = list(dict.fromkeys(keys))
    known = KNOWN.format(", ".join("?" * len(wanted)))
    if not wanted or store.db.one(known + " LIMIT 1", wanted) is None:
        return 0
    with store.db.write():
        store.check_identity()
        rows = sorted(store.db.rows(known, wanted))
        round_ = store.open_round("enqueue", now)
        store.db.many(TAKE_BACK, [(now, round_, page) for page, _, _ in rows])
        ops: list[Op] = ranges("r", ((page, host, now, shift(prio)) for page, host, prio in rows))
        outbox.append(store.db, [Entry("enqueue", ops)], now)
    return len(rows)
