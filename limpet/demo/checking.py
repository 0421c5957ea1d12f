"""What came of a scraper, told by others than itself: the site's log, and every value that it stored."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from limpet.demo.shop import Request
from limpet_store.store import Store

Values = Mapping[str, str]
RECORDS = "SELECT key, data, version FROM records WHERE gone = 0 ORDER BY key"
MESSAGES = "SELECT messages FROM outbox WHERE messages <> '' ORDER BY seq"


@dataclass(frozen=True, slots=True)
class Traffic:
    """The requests of pages as the site noted them; robots.txt is left out."""

    requests: int
    pages: int

    @property
    def repeated(self) -> int:
        return self.requests - self.pages


def traffic(log: Iterable[Request]) -> Traffic:
    """Count the log."""
    asked = Counter(request.path for request in log if request.path != "/robots.txt")
    return Traffic(asked.total(), len(asked))


def naive_rows(database: Path) -> list[tuple[str, Values]]:
    """What the naive scraper stored: sku and values, row by row."""
    with closing(sqlite3.connect(database)) as db:
        rows = db.execute("SELECT sku, name, price, url FROM products").fetchall()
    return [(sku, {"name": name, "price": price, "url": url}) for sku, name, price, url in rows]


def count_naive(database: Path) -> int:
    """How many rows the naive scraper has stored so far."""
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM products").fetchone()[0])
        except sqlite3.OperationalError:  # killed before it made its table
            return 0


def our_rows(store: Store) -> list[tuple[str, Values]]:
    """What limpet stored: key and values, record by record."""
    return [(key, json.loads(data)) for key, data, _ in store.db.rows(RECORDS)]


def compare(rows: Sequence[tuple[str, Values]], expected: Mapping[str, Values]) -> list[str]:
    """What is missing, doubled or wrong, each in a phrase; nothing when the rows are exactly what is expected."""
    copies = Counter(key for key, _ in rows)
    counts = {
        "missing": len(expected.keys() - copies.keys()),
        "doubled": copies.total() - len(copies),
        "not on the site": len(copies.keys() - expected.keys()),
        "wrong": sum(values != expected[key] for key, values in rows if key in expected),
    }
    return [f"{count} rows {what}" for what, count in counts.items() if count]


def message_problems(store: Store, records: int) -> list[str]:
    """Each record has had one message, of its first version; what is otherwise, in phrases."""
    lines = [json.loads(line) for (text,) in store.db.rows(MESSAGES) for line in text.splitlines()]
    sent = Counter(line["id"] for line in lines if line["type"].startswith("limpet.record."))
    problems = []
    if sent.total() != records or len(sent) != records:
        problems.append(f"{sent.total()} messages, {len(sent)} of them different, for {records} records")
    if later := sum(version != 1 for _, _, version in store.db.rows(RECORDS)):
        problems.append(f"{later} records have more versions than one")
    return problems


def request_problems(seen: Traffic, pages: int, in_flight: int) -> list[str]:
    """Each page was asked for, and again only if a kill had caught it in flight; what is otherwise, in phrases."""
    problems = []
    if seen.pages != pages:
        problems.append(f"{seen.pages} pages asked for, of {pages}")
    if seen.repeated > in_flight:
        problems.append(f"{seen.repeated} requests repeated, but {in_flight} pages in flight at the kills")
    return problems
