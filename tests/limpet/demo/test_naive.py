"""The naive scraper has to fail in the way that the demo shows, and in no other."""

import sqlite3
import subprocess
import sys
from pathlib import Path

from limpet.demo.shop import Shop, ShopServer

COMMAND = [sys.executable, "-m", "limpet.demo.naive"]


def rows(database: Path) -> list[tuple[str, ...]]:
    with sqlite3.connect(database) as db:
        return db.execute("SELECT sku, name, price, url FROM products ORDER BY id").fetchall()


def test_without_a_crash_every_product_is_there_once_and_right(shop: ShopServer, tmp_path: Path) -> None:
    subprocess.run([*COMMAND, shop.first_page, tmp_path / "db"], check=True)
    assert rows(tmp_path / "db") == [
        (sku, each["name"], each["price"], each["url"]) for sku, each in shop.expected().items()
    ]
    assert len(shop.log()) == shop.shop.pages


def test_started_again_it_inserts_everything_again(shop: ShopServer, tmp_path: Path) -> None:
    for _ in range(2):
        subprocess.run([*COMMAND, shop.first_page, tmp_path / "db"], check=True)
    assert len(rows(tmp_path / "db")) == 2 * shop.shop.products
    assert len(shop.log()) == 2 * shop.shop.pages


def test_killed_after_its_first_requests_it_keeps_what_it_had_committed(tmp_path: Path) -> None:
    database = tmp_path / "db"
    with ShopServer(Shop(), log_path=tmp_path / "log") as shop:
        naive = subprocess.Popen([*COMMAND, shop.first_page, str(database)])
        # The third product is only asked for once the first two are committed.
        mark = 0
        for _ in range(4):
            shop.wait_for_request(mark)
            mark += len(shop.log_path.read_bytes()[mark:].partition(b"\n")[0]) + 1
        naive.kill()
        naive.wait()
        kept = len(rows(database))
        subprocess.run([*COMMAND, shop.first_page, database], check=True)
    assert kept >= 2
    assert len(rows(database)) == kept + 500
