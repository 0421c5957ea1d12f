"""The invariants, checked on a user's own data: what `limpet verify` does.

Everything is read in short pieces, and what may merely have moved on in between is looked at again, so that it
can run while workers do. Nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from limpet_store import outbox, verify_records
from limpet_store.canonical import CANONICALISER_VERSION, admit
from limpet_store.dropping import is_left
from limpet_store.errors import URLRejected
from limpet_store.findings import Finding, Skipped, run
from limpet_store.store import Store

CHUNK = 2_000  # rows in one read

PAGES = f"SELECT id, kind, method, key, url, canonical FROM pages WHERE id > ? ORDER BY id LIMIT {CHUNK}"
AHEAD = """SELECT 'page ' || id || ' has had attempt ' || fence || ', the newest was ' || (SELECT fence FROM meta)
FROM pages WHERE id > ? AND id <= ? AND fence > (SELECT fence FROM meta) LIMIT 1"""
PART_AHEAD = """SELECT 'a part of record ' || p.record || ' is of attempt ' || p.fence || ', its page ' || p.page ||
  CASE WHEN g.id IS NULL THEN ' is not there' ELSE ' has had ' || g.fence END
FROM parts p LEFT JOIN pages g ON g.id = p.page
WHERE p.record > ? AND p.record <= ? AND (g.id IS NULL OR p.fence > g.fence) LIMIT 1"""
OPEN = """SELECT 'page ' || id || ' is ' || state || ' and in flight' FROM pages
WHERE open = 1 AND (state <> 'pending' OR nonce IS NULL OR fence = 0) LIMIT 1"""
ENDS = (
    """SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0), pruned, life FROM meta"""
)


def verify(store: Store, *, quiet: bool) -> Iterator[Finding]:
    """Check the store, one finding for each invariant. `quiet`: no worker of this machine is alive.

    Raises StoreError when the file is damaged so badly that it cannot be read.
    """
    yield run("the file is sound, its constraints hold", lambda: file_is_sound(store, quiet=quiet))
    yield from verify_records.verify(store)
    yield run("URLs of pages are canonical", lambda: urls_are_canonical(store))
    yield run("attempts never go back", lambda: attempts_rise(store))
    yield run("pages in flight are pending", lambda: _first(store, OPEN))
    yield run("the outbox only grows", lambda: outbox_grows(store))


def file_is_sound(store: Store, *, quiet: bool) -> str | None:
    """SQLite's own check of its pages, of unique keys and CHECKs; a long read, which would hold up writers of a
    rollback journal."""
    if not quiet and store.db.value("PRAGMA journal_mode") != "wal":
        raise Skipped("not while workers run, on this version of SQLite")
    found = str(store.db.value("PRAGMA integrity_check(1)"))
    return None if found == "ok" else " ".join(found.split())


def urls_are_canonical(store: Store) -> str | None:
    """canonical(canonical(u)) is canonical(u), and it is the key of a plain GET."""
    if store.db.value("SELECT canonicaliser FROM meta") != CANONICALISER_VERSION:
        raise Skipped("the keys were made by another version of the URL rules")
    last = 0
    while rows := store.db.rows(PAGES, (last,)):
        for page, kind, method, key, url, canonical in rows:
            wrong = _url_problem(kind, method, key, url, canonical)
            if wrong:
                return f"page {page}: {wrong}"
        last = rows[-1][0]
    return None


def _url_problem(kind: str, method: str, key: str, url: str, canonical: str) -> str | None:
    try:
        again, found = admit(canonical).canonical, admit(url).canonical
    except URLRejected as error:
        return str(error)
    if again != canonical:
        return f"{canonical} becomes {again}"
    if not is_left(canonical, found):  # the site's rules may have dropped parameters
        return f"{url} becomes {found}, and is stored as {canonical}"
    if kind == "page" and method == "GET" and key.startswith(("http:", "https:")) and key != canonical:
        return f"{canonical} has the key {key}"
    return None


def attempts_rise(store: Store) -> str | None:
    """No page had an attempt newer than the store's newest, no part one newer than its page's."""
    top = store.db.value("SELECT coalesce(max(id), 0) FROM pages")
    for first in range(0, top, CHUNK):
        if found := _first(store, AHEAD, first, first + CHUNK):
            return found
    return _first_in_chunks(store, "SELECT record FROM parts", PART_AHEAD)


def _first_in_chunks(store: Store, ids: str, check: str) -> str | None:
    last = ""
    bound = f"SELECT max(record) FROM ({ids} WHERE record > ? ORDER BY record LIMIT {CHUNK})"
    while (upto := store.db.value(bound, (last,))) is not None:
        if found := _first(store, check, last, upto):
            return found
        last = upto
    return None


def outbox_grows(store: Store) -> str | None:
    """No row is above the number last given out; nothing claims to be known of rows that never were."""
    newest, _ = outbox.top(store.db)
    given, pruned, life = store.db.rows(ENDS)[0]  # read later: it can only have grown
    if newest > given:
        return f"row {newest} is above {given}, the last number given out"
    if max(pruned, life) > given:
        return f"rows up to {max(pruned, life)} are spoken of, {given} is the last number given out"
    return None


def _first(store: Store, sql: str, *params: object) -> str | None:
    found = store.db.one(sql, params)
    return str(found[0]) if found else None
