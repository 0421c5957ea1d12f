"""`limpet backup` and `limpet restore`: also while a crawl runs, and with nothing lost or skipped afterwards."""

from __future__ import annotations

import json
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pytest
from front_helpers import ask, eventually, limpet, running

from limpet.demo import killing
from limpet.demo.shop import Shop, ShopServer
from limpet.demo.site_template import site_file
from limpet_store.database import Database


def told(site: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in limpet("changes", site).out.splitlines()]


def test_a_backup_of_a_running_crawl_is_restored_after_a_kill_and_crawled_to_its_end(tmp_path: Path) -> None:
    """And a subscriber who has applied what was told before the kill ends with the right records."""
    with ShopServer(Shop(50, 1000), log_path=tmp_path / "log") as server:
        site = tmp_path / "site" / "shop.py"
        site.parent.mkdir()
        site.write_text(site_file(server.first_page, lease=None))
        database = site.parent / ".limpet/demo-shop.db"
        with running("crawl", site, "--workers", 1) as crawl:
            eventually(lambda: database.exists() and _records(site) > 5)
            assert limpet("backup", site, tmp_path / "copy.db").code == 0
            eventually(lambda: _records(site) > 300)
            killing.kill_everything(site.parent / ".limpet")
            crawl.wait()
        before = told(site)
        ran = limpet("restore", site, tmp_path / "copy.db", "--force")
        assert ran.code == 0, ran.said
        assert limpet("crawl", site, "--workers", 1).code == 0
        assert limpet("verify", site).code == 0
        assert _records(site) == 1000
    after = told(site)
    gap = [event["type"] for event in after].index("limpet.gap")
    assert after[gap]["source"] not in {event["source"] for event in before}
    assert {event["source"] for event in after[gap:]} == {after[gap]["source"]}
    lost = {event["id"] for event in before} - {event["id"] for event in after[:gap]}
    assert lost, "something was told that the copy does not know"
    assert not lost & {event["id"] for event in after[gap:]}, "its keys are given to nothing else"


def _records(site: Path) -> int:
    if not ask_crawl(site, "SELECT 1 FROM sqlite_master WHERE name = 'records'"):
        return 0  # the store is just being made
    (row,) = ask_crawl(site, "SELECT count(*) FROM records WHERE gone = 0")
    assert isinstance(row[0], int)
    return row[0]


def ask_crawl(site: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(Database(site.parent / ".limpet/demo-shop.db", create=False)) as db:
        return db.rows(sql)


def test_into_a_folder_it_gets_a_name_of_its_own(crawled: Path, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    assert limpet("backup", crawled, tmp_path / "copies").code == 0
    (copy,) = (tmp_path / "copies").iterdir()
    assert copy.name.startswith("shop-20")
    assert copy.suffix == ".db"


def test_nothing_is_replaced_unasked(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert limpet("backup", crawled, copy).code == 0
    ran = limpet("backup", crawled, copy)
    assert (ran.code, ran.said) == (2, [f"limpet: {copy} is there already: --force replaces it"])
    assert limpet("backup", crawled, copy, "--force").code == 0
    assert limpet("restore", crawled, copy).code == 2
    assert limpet("backup", crawled, tmp_path / "no/such/folder.db").code == 2
    assert limpet("restore", crawled, tmp_path / "nothing.db", "--force").code == 2


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock", ".published", ".part"])
def test_what_belongs_to_the_store_is_never_replaced(crawled: Path, suffix: str) -> None:
    target = crawled.parent / f".limpet/shop.db{suffix}"
    ran = limpet("backup", crawled, target, "--force")
    assert (ran.code, ran.said) == (2, [f"limpet: {target} belongs to the store itself"])


def test_what_is_no_backup_is_never_replaced(crawled: Path, tmp_path: Path) -> None:
    before = crawled.read_text()
    for target in (crawled, Path("/dev/null"), crawled.parent / ".limpet/users.lock"):
        assert limpet("backup", crawled, target, "--force").code == 2
    assert crawled.read_text() == before
    assert Path("/dev/null").is_char_device()
    assert limpet("backup", crawled, "").said == ["limpet: FILE is empty"]


def test_where_there_is_no_store_one_is_made_of_the_copy(crawled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    limpet("backup", crawled, copy)
    exported = limpet("export", crawled).out
    moved = tmp_path / "elsewhere" / "shop.py"
    moved.parent.mkdir()
    moved.write_text(crawled.read_text())
    assert limpet("restore", moved, copy).said[0] == f"shop: 8 pages and 6 records from {copy}"
    assert limpet("export", moved).out == exported
    assert limpet("crawl", moved, "--workers", 1).code == 0


def test_it_is_refused_while_somebody_works(site: Path, shop: ShopServer, tmp_path: Path) -> None:
    limpet("enqueue", site, f"{shop.url}/product/1")
    copy = tmp_path / "copy.db"
    limpet("backup", site, copy)
    with running("consume", site, "--workers", 1) as pool:
        eventually(lambda: list((site.parent / ".limpet/run").glob("worker-*")))
        ran = limpet("restore", site, copy, "--force")
        assert ran.code == 2
        assert "is in use" in ran.said[0]
        shutil.rmtree(site.parent / ".limpet/run")  # by somebody who tidies up
        for words in (("restore", site, copy, "--force"), ("reset", site, "--yes")):
            ran = limpet(*words)
            assert ran.code == 2, "it is open, or its presence is there again"
        pool.send_signal(signal.SIGINT)
        pool.wait(20)
    assert limpet("restore", site, copy, "--force").code == 0
    assert ask(site, "SELECT count(*) FROM pages WHERE kind = 'page'") == [(1,)]
