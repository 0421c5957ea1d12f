"""Why a URL is not among a crawl's pages: the ones that are nearly it, and where links like it were left out."""

from __future__ import annotations

import json

from limpet_store.canonical import Address
from limpet_store.store import Store

NAMED = "SELECT canonical, state FROM pages WHERE kind = 'page' AND key IN ({})"
LIKE_IT = (
    "SELECT canonical, state FROM pages WHERE kind = 'page' AND key >= ? AND key < ? ORDER BY key LIMIT ?"
)
DROPPING = """SELECT id, url, dropped FROM pages NOT INDEXED
WHERE dropped IS NOT NULL AND id > ? ORDER BY id LIMIT ?"""
CHUNK = 500  # rows in one read
MOST_LIKE = 5


def like_it(store: Store, address: Address) -> list[tuple[str, str]]:
    """Pages whose URL is nearly this one, with their states: another scheme, `www.`, a slash at the end, a path in
    small letters, or another query. At most five."""
    path = address.canonical.partition("?")[0]
    near = _variants(address)
    rows = [
        *store.db.rows(NAMED.format(",".join("?" * len(near))), near),
        *store.db.rows(LIKE_IT, (f"{path}?", f"{path}@", MOST_LIKE)),  # "@" comes right after "?"
        *store.db.rows(NAMED.format("?"), (path,)),
    ]
    found: dict[str, str] = dict(rows)
    found.pop(address.canonical, None)
    return list(found.items())[:MOST_LIKE]


def _variants(address: Address) -> list[str]:
    rest = address.canonical.partition("://")[2]
    place, _, tail = rest.partition("/")
    path, mark, query = tail.partition("?")
    bare = place.removeprefix("www.")
    paths = {path, path.rstrip("/"), f"{path}/" if path else "", path.lower()}
    return sorted(
        f"{scheme}://{name}/{each}{mark}{query}"
        for scheme in ("http", "https")
        for name in (bare, f"www.{bare}")
        for each in paths
    )


def dropping(store: Store, reason: str, most: int = 3) -> list[tuple[str, int]]:
    """The first few pages on whose newest visit links were left out for this reason, and how many."""
    found: list[tuple[str, int]] = []
    last = 0
    while len(found) < most:
        rows = store.db.rows(DROPPING, (last, CHUNK))
        counts = ((url, json.loads(dropped).get(reason, 0)) for _, url, dropped in rows)
        found += [(url, count) for url, count in counts if count]
        if len(rows) < CHUNK:
            break
        last = rows[-1][0]
    return found[:most]
