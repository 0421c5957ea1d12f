"""The records, read in a stable order in short reads: the rows behind `limpet export`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from limpet_store.store import Store

CHUNK = 500  # records in one read
COLUMNS = "type, key, url, version, first_seen, last_changed, data"
ALL = f"""SELECT {COLUMNS} FROM records WHERE source = ? AND (type, key) > (?, ?) AND gone = 0
ORDER BY type, key LIMIT {CHUNK}"""
OF_TYPE = f"""SELECT {COLUMNS} FROM records WHERE source = ? AND type = ? AND key > ? AND gone = 0
ORDER BY key LIMIT {CHUNK}"""
NEXT_TYPE = "SELECT type FROM records WHERE source = ? AND type > ? ORDER BY type LIMIT 1"


@dataclass(frozen=True, slots=True)
class Exported:
    """One live record; times in ms, `data` as canonical JSON."""

    type: str
    key: str
    url: str
    version: int
    first_seen: int
    last_changed: int
    data: str


def records(store: Store, type_: str | None = None) -> Iterator[Exported]:
    """The live records in order of (type, key), in constant memory.

    Each read is consistent in itself, the whole is not a snapshot: a version that is committed meanwhile may or
    may not be in it.
    """
    last = ("", "") if type_ is None else (type_, "")
    while rows := store.db.rows(ALL if type_ is None else OF_TYPE, (store.crawl, *last)):
        for row in rows:
            yield Exported(*row)
        last = rows[-1][:2]


def types(store: Store) -> list[str]:
    """The types of record there are, by one look into the index for each."""
    found: list[str] = []
    while row := store.db.one(NEXT_TYPE, (store.crawl, found[-1] if found else "")):
        found.append(row[0])
    return found
