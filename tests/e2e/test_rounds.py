"""A crawl is run again and again: what is asked, what is written, what is said."""

from __future__ import annotations

import signal
from pathlib import Path

from e2e.conftest import OpenShop
from e2e.helpers import Crawl, eventually

from limpet.demo import checking
from limpet.demo.shop import ShopServer
from limpet.demo.site_template import site_file

CHANGED = "SELECT key, first_seen, last_changed FROM records ORDER BY key"

TWO_PARTS = """
from limpet import Page, Record, Site

site = Site("demo-shop", seeds=["{seed}"], allow_private=True)

@site.page("/list/{{n}}")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        sku = page.one(".sku", of=card)
        yield Record("product", key=sku, data={{"price": page.one(".price", of=card)}}, part="listing")
        yield page.link(card.css("a"), to=product)

@site.page("/product/{{n}}")
def product(page: Page):
    yield Record("product", key=page.one(".sku"), data={{"name": page.one(".name")}}, part="detail")
"""


def test_a_finished_crawl_asks_for_nothing_and_says_how_to_begin_again(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, site_file(shop.first_page), workers=1) as crawl:
        assert crawl.run() == 0, crawl.said
        mark, versions, messages = shop.mark(), crawl.versions(), crawl.messages()
        assert crawl.run() == 0, crawl.said
        assert shop.requests_since(mark) == []
        assert crawl.versions() == versions
        assert crawl.messages() == messages
        assert "nothing is left to do" in crawl.said
        assert "--refresh" in crawl.said
        assert "--every" in crawl.said


def test_a_new_round_on_an_unchanged_site_writes_nothing(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, site_file(shop.first_page), workers=1) as crawl:
        assert crawl.run() == 0, crawl.said
        mark, before, messages = shop.mark(), crawl.ask(CHANGED), crawl.messages()
        assert crawl.run("--refresh") == 0, crawl.said
        asked = [request.path for request in shop.requests_since(mark) if request.path != "/robots.txt"]
        assert len(asked) == len(set(asked)) == shop.shop.pages
        assert crawl.ask(CHANGED) == before
        assert set(crawl.versions().values()) == {1}
        (new,) = crawl.messages() - messages
        assert new.startswith("round:")


def test_changed_prices_give_exactly_these_records_a_version_and_a_message(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, site_file(shop.first_page), workers=1) as crawl:
        assert crawl.run() == 0, crawl.said
        before, messages = crawl.ask(CHANGED), crawl.messages()
        shop.change_prices([3, 7, 11])
        assert crawl.run("--refresh") == 0, crawl.said
        changed = {"LP-00003", "LP-00007", "LP-00011"}
        assert {key for key, version in crawl.versions().items() if version == 2} == changed
        assert sum(crawl.versions().values()) == 23
        moved = {old[0] for old, new in zip(before, crawl.ask(CHANGED), strict=True) if old[2] < new[2]}
        assert moved == changed
        assert {old[:2] for old in before} == {new[:2] for new in crawl.ask(CHANGED)}, "first_seen moved"
        fresh = crawl.messages() - messages
        assert fresh.total() == 4
        assert sum(key.startswith("round:") for key in fresh) == 1
        assert sum(key.endswith(".2") and not key.startswith("round:") for key in fresh) == 3


def test_a_record_of_two_parts_steps_once_for_each_change(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, TWO_PARTS.format(seed=shop.first_page), workers=1) as crawl:
        assert crawl.run() == 0, crawl.said
        first = crawl.versions()
        assert set(first.values()) == {2}, "either part came, then the other"
        shop.change_prices([3, 7])
        assert crawl.run("--refresh") == 0, crawl.said
        second = crawl.versions()
        assert {key for key in first if second[key] == first[key] + 1} == {"LP-00003", "LP-00007"}
        assert sum(second.values()) == sum(first.values()) + 2
        rows = dict(crawl.ask("SELECT key, data FROM records"))
        shown = shop.shop.values(3)
        assert shown["price"] in rows["LP-00003"]
        assert shown["name"] in rows["LP-00003"]


def test_a_page_that_waits_for_all_that_is_handed_down_is_read_before_the_round_ends(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(1, 5)
    with Crawl(tmp_path, site_file(shop.first_page), workers=1) as crawl:
        assert crawl.run() == 0, crawl.said
        with crawl.store() as store, store.db.write():
            store.db.run("UPDATE pages SET state = 'held', reason = 'data' WHERE key LIKE '%/product/3'")
            store.db.run("UPDATE rounds SET finished_at = NULL")
        mark = shop.mark()
        assert crawl.run() == 0, crawl.said
        assert [request.path for request in shop.requests_since(mark)] == ["/product/3"]
        assert crawl.ask("SELECT count(*) FROM pages WHERE state <> 'done'") == [(0,)]


REFRESHED = """
from limpet import Page, Record, Site

site = Site("demo-shop", seeds=["{seed}"], allow_private=True)

@site.page("/list/{{n}}")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        yield page.link(card.css("a"), to=product)

@site.page("/product/{{n}}", refresh={refresh})
def product(page: Page):
    yield Record("product", key=page.one(".sku"), data={{"name": page.one(".name"), "price": page.one(".price"),
      "url": page.url}})
"""


def test_consume_visits_pages_again_by_themselves_and_crawl_those_that_are_due(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, REFRESHED.format(seed=shop.first_page, refresh=3)) as crawl:
        assert crawl.run() == 0, crawl.said
        mark = shop.mark()
        shop.change_prices(range(20))
        process = crawl.start(command="consume")
        eventually(lambda: len(products(shop, mark)) == 20, "not every product was visited again")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143, crawl.said
        assert crawl.run() == 0, crawl.said  # those that are due when it begins, and what was put back
        asked = [request.path for request in shop.requests_since(mark)]
        assert not [path for path in asked if path.startswith("/list/")], "listings have no period"
        with crawl.store() as store:
            assert checking.compare(checking.our_rows(store), shop.expected()) == []
        assert set(crawl.messages().values()) == {1}
        assert set(crawl.versions().values()) == {2}
        assert crawl.ask("SELECT count(*) FROM rounds") == [(1,)]


def test_a_period_that_is_added_to_the_site_file_holds_for_pages_that_are_finished(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, REFRESHED.format(seed=shop.first_page, refresh=None)) as crawl:
        assert crawl.run() == 0, crawl.said
        assert crawl.ask("SELECT count(refresh_at) FROM pages") == [(0,)]
        crawl.site.write_text(REFRESHED.format(seed=shop.first_page, refresh="'24h'"))
        assert crawl.run() == 0, crawl.said
        assert "refresh periods have changed: 20 pages rescheduled" in crawl.said
        assert crawl.ask("SELECT count(refresh_at), count(DISTINCT refresh_at) FROM pages") == [(20, 20)]


def products(shop: ShopServer, mark: int) -> set[str]:
    return {request.path for request in shop.requests_since(mark) if request.path.startswith("/product/")}
