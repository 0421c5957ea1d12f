"""Record upserts: a record is the merge of its parts, and its version steps when the merge changes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from limpet_store.content import GONE_HASH, canonical_json, content_hash, record_id, storable
from limpet_store.database import Database
from limpet_store.items import Record
from limpet_store.message import Source, record_message

FIND = "SELECT version, hash, data, gone FROM records WHERE id = ?"
PARTS = "SELECT part, page, fence, hash, data FROM parts WHERE record = ? ORDER BY part"
NEW_PART = "INSERT INTO parts (record, part, page, fence, hash, data, last_seen) VALUES (?, ?, ?, ?, ?, ?, ?)"
CHANGED_PART = """UPDATE parts SET page = ?, fence = ?, hash = ?, data = ?, last_seen = ?
WHERE record = ? AND part = ?"""
SEEN_PART = "UPDATE parts SET page = ?, fence = ?, last_seen = ? WHERE record = ? AND part = ?"
NEW = """INSERT INTO records (id, source, type, key, url, version, hash, data, first_seen, last_changed)
VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?)"""
NEXT = """UPDATE records SET url = ?, version = version + 1, hash = ?, data = ?, gone = ?, last_changed = ?
WHERE id = ?"""


@dataclass(frozen=True, slots=True)
class PartWrite:
    """What one page says about one record: encoded, hashed, ready to be stored."""

    record: str
    type: str
    key: str
    part: str
    data: str
    hash: str


@dataclass(frozen=True, slots=True)
class Seen:
    """Under which attempt the parts were seen."""

    page: int
    url: str
    fence: int
    at: int


def prepare(source: str, record: Record) -> PartWrite:
    """Validate and encode a record before the transaction. Raises NotStorable."""
    key = storable(str(record.key), "key")
    data = canonical_json(storable(dict(record.data)))
    return PartWrite(
        record_id(source, record.type, key), record.type, key, record.part, data, content_hash(data)
    )


def upsert(db: Database, source: Source, writes: Iterable[PartWrite], seen: Seen) -> list[str]:
    """Store the parts; returns the messages of the versions that this made, inside the caller's transaction.

    An unchanged part moves only its fence and last_seen. A part with a newer fence is left alone.
    """
    messages = []
    for write in writes:
        if _store_part(db, write, seen):
            messages += _settle(db, source, write, seen)
    return messages


def _store_part(db: Database, write: PartWrite, seen: Seen) -> bool:
    """Whether the part's content changed."""
    found = db.one("SELECT fence, hash FROM parts WHERE record = ? AND part = ?", (write.record, write.part))
    if found is None:
        db.run(NEW_PART, (write.record, write.part, seen.page, seen.fence, write.hash, write.data, seen.at))
        return True
    if found[0] > seen.fence:
        return False
    if found[1] == write.hash:
        db.run(SEEN_PART, (seen.page, seen.fence, seen.at, write.record, write.part))
        return False
    db.run(CHANGED_PART, (seen.page, seen.fence, write.hash, write.data, seen.at, write.record, write.part))
    return True


def _settle(db: Database, source: Source, write: PartWrite, seen: Seen) -> list[str]:
    """Step the version if the merge of the parts differs from the stored content."""
    found = db.one(FIND, (write.record,))
    content, hash_ = (write.data, write.hash) if found is None else _merged(db, write.record)
    if found is None:  # its first part is all there is
        db.run(
            NEW,
            (write.record, source.crawl, write.type, write.key, seen.url, hash_, content, seen.at, seen.at),
        )
        version, before, kind = 1, None, "created"
    else:
        version, before, kind = found[0] + 1, found[2], "created" if found[3] else "changed"
        if found[1] == hash_:
            return []
        db.run(NEXT, (seen.url, hash_, content, 0, seen.at, write.record))
    return [
        record_message(
            source, kind=kind, record=write.record, type_=write.type, key=write.key, url=seen.url, version=version,
            hash_=hash_, content=content, before=before, at=seen.at,
        )
    ]  # fmt: skip


def _merged(db: Database, record: str) -> tuple[str, str]:
    """The content of a record's parts together, and its hash."""
    parts = db.rows(PARTS, (record,))
    if len(parts) == 1:
        return parts[0][4], parts[0][3]
    content = merge(data for *_, data in parts)
    return content, content_hash(content)


def merge(parts: Iterable[str]) -> str:
    """One content from the parts in order of their names; of two that name a field, the later wins."""
    merged: dict[str, Any] = {}
    for data in parts:
        merged.update(json.loads(data))
    return canonical_json(merged)


def remove_page(db: Database, source: Source, seen: Seen) -> list[str]:
    """Take away the parts of a page that is gone; a record without parts gets a gone version.

    Returns the messages. The attempt behind `seen` has the newest fence of the page, so nothing newer is lost.
    """
    records = [
        r
        for (r,) in db.rows("SELECT DISTINCT record FROM parts WHERE page = ? ORDER BY record", (seen.page,))
    ]
    db.run("DELETE FROM parts WHERE page = ? AND fence <= ?", (seen.page, seen.fence))
    messages = []
    for record in records:
        type_, key = db.rows("SELECT type, key FROM records WHERE id = ?", (record,))[0]
        parts = db.rows(PARTS, (record,))
        if parts:
            last = parts[-1]
            messages += _settle(db, source, PartWrite(record, type_, key, last[0], last[4], last[3]), seen)
        else:
            messages += _gone(db, source, record, type_, key, seen)
    return messages


def _gone(db: Database, source: Source, record: str, type_: str, key: str, seen: Seen) -> list[str]:
    version, hash_, before, _ = db.rows(FIND, (record,))[0]
    if hash_ == GONE_HASH:
        return []
    db.run(NEXT, (seen.url, GONE_HASH, "null", 1, seen.at, record))
    return [
        record_message(
            source, kind="gone", record=record, type_=type_, key=key, url=seen.url, version=version + 1,
            hash_=GONE_HASH, content="null", before=before, at=seen.at,
        )
    ]  # fmt: skip
