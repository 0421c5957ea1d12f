"""What went wrong on a crawl, one by one: pages that are dead, failing or missed, and records that were rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from limpet_store.message import rfc3339
from limpet_store.store import Store

CHUNK = 500  # rows in one read
DEAD = """SELECT id, url, reason, status, error, parent FROM pages NOT INDEXED
WHERE state = 'dead' AND id > ? ORDER BY id LIMIT ?"""
FAILING = """SELECT id, url, reason, failures, error, due_at FROM pages INDEXED BY pages_failing
WHERE state = 'pending' AND failures > 0 AND id > ? ORDER BY id LIMIT ?"""
MISSED = """SELECT id, url, status, error, missed_at FROM pages INDEXED BY pages_missed
WHERE missed IS NOT NULL AND state IN ('done', 'alias') AND id > ? ORDER BY id LIMIT ?"""
REJECTED = """SELECT r.page, r.n, p.url, r.type, r.key, r.field, r.reason, r.value FROM rejections r
JOIN pages p ON p.id = r.page WHERE (r.page, r.n) > (?, ?) ORDER BY r.page, r.n LIMIT ?"""


def dead(store: Store) -> Iterator[dict[str, Any]]:
    """Every dead page: why, its last status and error, and the page that links it."""
    last = 0
    while rows := store.db.rows(DEAD, (last, CHUNK)):
        for id_, url, reason, status, error, parent in rows:
            yield {
                "kind": "dead page",
                "url": url,
                "reason": reason,
                "status": status,
                "error": error,
                "linked_from": _url(store, parent),
            }
            last = id_


def failing(store: Store) -> Iterator[dict[str, Any]]:
    """Every page that failed and is tried again: when, and why it failed."""
    last = 0
    while rows := store.db.rows(FAILING, (last, CHUNK)):
        for id_, url, reason, failures, error, due in rows:
            yield {
                "kind": "failing page",
                "url": url,
                "reason": reason,
                "failures": failures,
                "error": error,
                "due": rfc3339(due),
            }
            last = id_


def missed(store: Store) -> Iterator[dict[str, Any]]:
    """Every page that was not found at a first look, since when, and how that showed."""
    last = 0
    while rows := store.db.rows(MISSED, (last, CHUNK)):
        for id_, url, status, error, since in rows:
            yield {
                "kind": "missed page",
                "url": url,
                "status": status,
                "error": error,
                "since": rfc3339(since),
            }
            last = id_


def rejected(store: Store) -> Iterator[dict[str, Any]]:
    """Every rejected record: on which page, and what about it could not be stored."""
    last = (0, -1)
    while rows := store.db.rows(REJECTED, (*last, CHUNK)):
        for page, n, url, type_, key, field, reason, value in rows:
            yield {
                "kind": "rejected record",
                "url": url,
                "type": type_,
                "key": key,
                "field": field,
                "reason": reason,
                "value": value,
            }
            last = (page, n)


def _url(store: Store, page: int | None) -> str | None:
    found = store.db.one("SELECT url FROM pages WHERE id = ?", (page,)) if page else None
    return found[0] if found else None
