"""Record upserts: a record is the merge of its parts, and its version steps when the merge changes.

Volatile fields are stored with a version and make none: they are left out of every hash. A record that requires parts
is kept as version 0, seen by nobody, until all of them are there.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from limpet_store import givers, retry, secret
from limpet_store.content import (
    GONE_HASH,
    NotStorable,
    canonical_json,
    content_hash,
    key_text,
    record_id,
    storable,
)
from limpet_store.database import Database
from limpet_store.items import Record
from limpet_store.message import Source, record_message

FIND = "SELECT version, hash, data, gone FROM records WHERE id = ?"
PARTS = "SELECT part, hash, data, volatile, schema, requires FROM parts WHERE record = ? ORDER BY part"
PART = """SELECT p.fence, p.hash, p.schema, r.gone, p.page FROM parts p JOIN records r ON r.id = p.record
WHERE p.record = ? AND p.part = ?"""
NEW_PART = """INSERT INTO parts (record, part, page, fence, hash, data, volatile, requires, schema, last_seen)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
SEEN_PART = """UPDATE parts SET page = ?, fence = ?, hash = ?, data = ?, volatile = ?, requires = ?, schema = ?,
last_seen = ?, missed = NULL, missed_at = NULL WHERE record = ? AND part = ?"""
OF_PAGE = "SELECT record, part, missed, missed_at FROM parts WHERE page = ? AND fence <= ?"
MISSED_PART = "UPDATE parts SET missed = ?, missed_at = ? WHERE record = ? AND part = ?"
FORGET = (
    "DELETE FROM records WHERE id = ? AND version = 0 AND NOT EXISTS (SELECT 1 FROM parts WHERE record = id)"
)
NEW = """INSERT INTO records (id, source, type, key, url, version, hash, data, schema, gone, first_seen, last_changed)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
NEXT = """UPDATE records SET url = ?, version = version + 1, hash = ?, data = ?, schema = ?, gone = ?,
last_changed = ? WHERE id = ?"""


@dataclass(frozen=True, slots=True)
class PartWrite:
    """What one page says about one record: encoded, hashed, ready to be stored."""

    record: str
    type: str
    key: str
    part: str
    data: str
    hash: str
    volatile: str | None = None  # JSON
    schema: int = 1
    requires: str | None = None  # JSON


@dataclass(frozen=True, slots=True)
class Seen:
    """Under which attempt the parts were seen, and why a version is made if one is."""

    page: int
    url: str
    fence: int
    at: int
    reason: str = "content"


@dataclass(frozen=True, slots=True)
class _Merged:
    """The parts of a record together; `missing` are those that they require and that are not there."""

    content: str
    hash: str
    schema: int
    volatile: str | None
    missing: frozenset[str]


def prepare(source: str, record: Record) -> PartWrite:
    """Validate and encode a record before the transaction. Raises NotStorable."""
    if record.key is None:
        raise NotStorable("no key")
    key = key_text(record.key)
    data = canonical_json(storable(dict(record.data)))
    if name := secret.told(data) or secret.told(key):
        raise NotStorable(f"data holds secret({name!r}), which the site has said back")
    volatile, requires = _names(record.volatile), _names(record.requires)
    hash_ = content_hash(steady(data, volatile))
    return PartWrite(
        record_id(source, record.type, key), record.type, key, record.part, data, hash_, volatile, record.schema,
        requires,
    )  # fmt: skip


def _names(given: Collection[str]) -> str | None:
    return canonical_json(sorted(given)) if given else None


def steady(data: str, volatile: str | None) -> str:
    """The content without its volatile fields: what is hashed."""
    if volatile is None or volatile == "null" or data == "null":
        return data
    left_out = set(json.loads(volatile))
    fields: Mapping[str, Any] = json.loads(data)
    return canonical_json({name: value for name, value in fields.items() if name not in left_out})


def upsert(db: Database, source: Source, writes: Iterable[PartWrite], seen: Seen) -> list[str]:
    """Store the parts; returns the messages of the versions that this made, inside the caller's transaction.

    An unchanged part moves only its fence and last_seen. A part with a newer fence is left alone.
    """
    messages = []
    for write in writes:
        reason = _store_part(db, write, seen)
        if reason:
            messages += _settle(db, source, write, seen, reason)
    return messages


def _store_part(db: Database, write: PartWrite, seen: Seen) -> str:
    """Why the record may have another version now; "" when the part has not changed and the record is shown."""
    found = db.one(PART, (write.record, write.part))
    content = (write.hash, write.data, write.volatile, write.requires, write.schema, seen.at)
    if found is None:
        db.run(NEW_PART, (write.record, write.part, seen.page, seen.fence, *content))
        return seen.reason
    fence, hash_, schema, gone, page = found
    if page != seen.page:
        givers.note(db, (write.record, write.part), page, seen.page)
    if fence > seen.fence:
        return ""
    db.run(SEEN_PART, (seen.page, seen.fence, *content, write.record, write.part))
    if hash_ == write.hash:
        return seen.reason if gone else ""  # a record that waits may require less by now
    return seen.reason if schema == write.schema else "schema"


def _settle(db: Database, source: Source, write: PartWrite, seen: Seen, reason: str) -> list[str]:
    """Step the version if the merge of the parts differs from the stored content."""
    found = db.one(FIND, (write.record,))
    if found is None:
        return _begin(db, source, write, seen)
    version, hash_, before, gone = found
    now = _merged(db, write.record)
    if now.hash == hash_ or (gone and now.missing):
        return []
    db.run(NEXT, (seen.url, now.hash, now.content, now.schema, 0, seen.at, write.record))
    return [
        record_message(
            source, kind="created" if gone else "changed", record=write.record, type_=write.type, key=write.key,
            url=seen.url, version=version + 1, hash_=now.hash, content=now.content, before=before, at=seen.at,
            reason="content" if gone else reason, schema=now.schema, volatile=now.volatile,
        )
    ]  # fmt: skip


def _begin(db: Database, source: Source, write: PartWrite, seen: Seen) -> list[str]:
    """The first part of a record: all there is, and enough unless it requires others."""
    waits = not {write.part}.issuperset(json.loads(write.requires or "[]"))
    version, hash_, content = (0, GONE_HASH, "null") if waits else (1, write.hash, write.data)
    db.run(
        NEW,
        (write.record, source.crawl, write.type, write.key, seen.url, version, hash_, content, write.schema, int(waits),
         seen.at, seen.at),
    )  # fmt: skip
    if waits:
        return []
    return [
        record_message(
            source, kind="created", record=write.record, type_=write.type, key=write.key, url=seen.url, version=1,
            hash_=hash_, content=content, before=None, at=seen.at, reason="content", schema=write.schema,
            volatile=write.volatile,
        )
    ]  # fmt: skip


def _merged(db: Database, record: str) -> _Merged:
    """The content of a record's parts together."""
    rows = db.rows(PARTS, (record,))
    missing = frozenset(json.loads(together(row[5] for row in rows) or "[]")) - {row[0] for row in rows}
    if len(rows) == 1:
        _, hash_, content, volatile, schema, _ = rows[0]
        return _Merged(content, hash_, schema, volatile, missing)
    content = merge(row[2] for row in rows)
    volatile = together(row[3] for row in rows)
    return _Merged(
        content, content_hash(steady(content, volatile)), max(row[4] for row in rows), volatile, missing
    )


def together(names: Iterable[str | None]) -> str | None:
    """The names of several parts as one JSON list; None for none."""
    found = {name for text in names if text for name in json.loads(text)}
    return canonical_json(sorted(found)) if found else None


def merge(parts: Iterable[str]) -> str:
    """One content from the parts in order of their names; of two that name a field, the later wins."""
    merged: dict[str, Any] = {}
    for data in parts:
        merged.update(json.loads(data))
    return canonical_json(merged)


def remove_page(db: Database, source: Source, seen: Seen) -> list[str]:
    """Take away the parts of a page that is gone, unless another page gives them too; returns the messages.

    The attempt behind `seen` has the newest fence of the page, so nothing newer is lost.
    """
    names = [(record, part) for record, part, *_ in db.rows(OF_PAGE, (seen.page, seen.fence))]
    passed = givers.passed_on(db, seen.page, names)
    givers.forget(db, seen.page)
    return _take_away(db, source, seen, [name for name in names if name not in passed])


def not_given(
    db: Database, source: Source, seen: Seen, given: Collection[givers.Name], round_: int
) -> tuple[list[str], bool]:
    """What becomes of the parts that a page gave before and, read in full, does not give any more: another page gives
    them too, or they are taken away at the second look that counts (`retry.confirmed`).

    Returns the messages, and whether any is left for a second look.
    """
    missing = [row for row in db.rows(OF_PAGE, (seen.page, seen.fence)) if row[:2] not in given]
    passed = givers.passed_on(db, seen.page, [row[:2] for row in missing])
    left = [row for row in missing if row[:2] not in passed]
    over = [row[:2] for row in left if retry.confirmed(row[2], row[3], round_, seen.at)]
    first = [row[:2] for row in left if row[2] is None]
    db.many(MISSED_PART, [(round_, seen.at, *name) for name in first])
    return _take_away(db, source, seen, over), len(left) > len(over)


def _take_away(db: Database, source: Source, seen: Seen, names: Sequence[givers.Name]) -> list[str]:
    """Delete parts; a record with none left gets a gone version."""
    db.many("DELETE FROM parts WHERE record = ? AND part = ?", names)
    messages = []
    for record in sorted({record for record, _ in names}):
        version, hash_, before, gone = db.rows(FIND, (record,))[0]
        if gone:  # it waits for parts, and has fewer now
            db.run(FORGET, (record,))
            continue
        now = _merged(db, record) if db.one("SELECT 1 FROM parts WHERE record = ?", (record,)) else _NOTHING
        if now.hash == hash_:
            continue
        type_, key, schema = db.rows("SELECT type, key, schema FROM records WHERE id = ?", (record,))[0]
        schema = now.schema or schema
        db.run(NEXT, (seen.url, now.hash, now.content, schema, int(now is _NOTHING), seen.at, record))
        kind = "gone" if now is _NOTHING else "changed"
        messages.append(
            record_message(
                source, kind=kind, record=record, type_=type_, key=key, url=seen.url, version=version + 1,
                hash_=now.hash, content=now.content, before=before, at=seen.at, reason="content", schema=schema,
                volatile=now.volatile,
            )
        )  # fmt: skip
    return messages


_NOTHING = _Merged("null", GONE_HASH, 0, None, frozenset())
