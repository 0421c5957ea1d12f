"""The yardstick: the idempotent scraper of the article, in one file. `python bench/article_loop.py URL DB`.

What a good engineer writes from its four decisions: ids from the data, a durable frontier, leases, and one
transaction a page, which holds its result, its progress and the lease of the next page. (A lease that is
committed apart costs about 10 % more; the yardstick is the cheaper form.) Requests, lxml/parsel and sqlite3
as they come, one page at a time. WAL with synchronous=FULL, as in limpet's own store, since a page that was
reported done must be there after a power cut. The lease scans the frontier: its cost grows with the crawl.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from urllib.parse import urljoin

import requests
from parsel import Selector

SOURCE = "shop"
LEASE = 20.0  # seconds

SCHEMA = """
CREATE TABLE IF NOT EXISTS frontier (
  url TEXT PRIMARY KEY, state TEXT NOT NULL DEFAULT 'pending', leased_until REAL NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS records (
  id TEXT PRIMARY KEY, content_hash TEXT NOT NULL, data TEXT NOT NULL,
  first_seen REAL NOT NULL, last_changed REAL NOT NULL);
"""
ADD = "INSERT OR IGNORE INTO frontier (url) VALUES (?)"
LEASE_ONE = """
UPDATE frontier SET leased_until = :until WHERE rowid = (
  SELECT rowid FROM frontier WHERE state = 'pending' AND leased_until <= :now ORDER BY rowid LIMIT 1)
RETURNING url"""
DONE = "UPDATE frontier SET state = 'done' WHERE url = ?"
UNFINISHED = "SELECT EXISTS (SELECT 1 FROM frontier WHERE state != 'done')"
UPSERT = """
INSERT INTO records (id, content_hash, data, first_seen, last_changed)
VALUES (:id, :hash, :data, :now, :now)
ON CONFLICT (id) DO UPDATE SET
  content_hash = excluded.content_hash, data = excluded.data, last_changed = excluded.last_changed
WHERE content_hash != excluded.content_hash"""

Row = dict[str, str | float]


def main(start: str, database: str) -> None:
    """Crawl from `start` until every URL is finished."""
    db = open_database(database)
    db.execute(ADD, [start])
    session = requests.Session()
    url = lease(db)
    while url or unfinished(db):
        if url:
            response = session.get(url)
            response.raise_for_status()
            url = finish(db, url, Selector(body=response.content, encoding="utf-8"))
        else:
            time.sleep(0.1)  # a crash left a lease behind: wait for it to lapse
            url = lease(db)


def open_database(path: str) -> sqlite3.Connection:
    """A durable connection in autocommit mode; transactions are begun by hand."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.executescript(SCHEMA)
    return db


def lease(db: sqlite3.Connection) -> str | None:
    """Claim one URL for a while."""
    now = time.time()
    row = db.execute(LEASE_ONE, {"now": now, "until": now + LEASE}).fetchone()
    return row[0] if row else None


def unfinished(db: sqlite3.Connection) -> bool:
    """Whether anything is still to be done, by whomever."""
    return bool(db.execute(UNFINISHED).fetchone()[0])


def finish(db: sqlite3.Connection, url: str, page: Selector) -> str | None:
    """Store what the page gave and that it is done, both or neither; claim the next one."""
    links = [[urljoin(url, href)] for href in page.css("a[rel=next]::attr(href), li a::attr(href)").getall()]
    records = list(products(url, page))
    db.execute("BEGIN IMMEDIATE")
    db.executemany(UPSERT, records)
    db.executemany(ADD, links)
    db.execute(DONE, [url])
    following = lease(db)
    db.execute("COMMIT")
    return following


def products(url: str, page: Selector) -> Iterator[Row]:
    """The product on a product page, ready to be stored."""
    if "/product/" not in url:
        return
    sku, name, price = (page.css(f".{field}::text").get() for field in ("sku", "name", "price"))
    data = json.dumps({"name": name, "price": price, "url": url}, sort_keys=True)
    yield {"id": digest(f"{SOURCE}:{sku}"), "hash": digest(data), "data": data, "now": time.time()}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:3])
