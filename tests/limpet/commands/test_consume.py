"""A pool of workers without seeds and rounds of its own."""

from __future__ import annotations

from pathlib import Path

from front_helpers import ask, limpet

from limpet.demo.shop import ShopServer


def test_it_ends_like_crawl_when_nothing_is_left(site: Path, shop: ShopServer) -> None:
    limpet("enqueue", site, f"{shop.url}/product/1", f"{shop.url}/product/2")

    ran = limpet("consume", site, "--until-done", "--workers", 1)

    assert ran.code == 0
    assert "records: 2; this round 2 new" in ran.said[-2]
    assert "pages: 2 done" in ran.said[-1]
    assert ask(site, "SELECT why, finished_at > 0 FROM rounds") == [("enqueued", 1)]


def test_without_anything_to_do_it_ends_at_once_and_adds_no_seeds(site: Path, shop: ShopServer) -> None:
    mark = shop.mark()

    assert limpet("consume", site, "--until-done", "--workers", 1).code == 5

    assert ask(site, "SELECT count(*) FROM pages") == [(0,)]
    assert shop.requests_since(mark) == []


def test_a_finished_crawl_is_left_alone(crawled: Path, shop: ShopServer) -> None:
    mark, rows = shop.mark(), ask(crawled, "SELECT count(*) FROM outbox")

    assert limpet("consume", crawled, "--until-done", "--workers", 1).code == 0

    assert shop.requests_since(mark) == []
    assert ask(crawled, "SELECT count(*) FROM outbox") == rows
