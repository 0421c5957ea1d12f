"""The scraper that the demo measures limpet against: `python -m limpet.demo.naive URL DB`.

Nothing is wrong with it on a day without crashes. It starts on page one, inserts what it finds under a number
of its own, commits each row, and remembers nothing of where it was.
"""

from __future__ import annotations

import sqlite3
import sys
from urllib.parse import urljoin

import requests
from lxml import html


def main(start: str, database: str) -> None:
    """Crawl from `start` to the last listing; the rows are in table `products`."""
    db = sqlite3.connect(database)
    db.execute(
        "CREATE TABLE IF NOT EXISTS products"
        " (id INTEGER PRIMARY KEY AUTOINCREMENT, sku TEXT, name TEXT, price TEXT, url TEXT)"
    )
    session = requests.Session()
    listing: str | None = start
    while listing is not None:
        page = fetch(session, listing)
        for href in page.xpath("//li/a/@href"):
            save(db, session, urljoin(listing, href))
        following = page.xpath("//a[@rel='next']/@href")
        listing = urljoin(listing, following[0]) if following else None


def fetch(session: requests.Session, url: str) -> html.HtmlElement:
    """The page at `url`, parsed."""
    return html.document_fromstring(session.get(url).content)


def save(db: sqlite3.Connection, session: requests.Session, url: str) -> None:
    """Fetch one product and add it as one more row."""
    page = fetch(session, url)
    found = [page.findtext(f".//*[@class='{name}']") for name in ("sku", "name", "price")]
    db.execute("INSERT INTO products (sku, name, price, url) VALUES (?, ?, ?, ?)", [*found, url])
    db.commit()


if __name__ == "__main__":
    main(*sys.argv[1:3])
