"""`limpet forget`: by URL and by pattern, and back again."""

from __future__ import annotations

import json
from pathlib import Path

from front_helpers import ask, limpet

from limpet.demo.shop import ShopServer


def keys(site: Path) -> set[str]:
    return {json.loads(line)["key"] for line in limpet("export", site).out.splitlines()}


def test_a_page_is_forgotten_with_its_record_and_taken_back(crawled: Path, shop: ShopServer) -> None:
    before = keys(crawled)
    url = f"{shop.url}/product/3"
    assert limpet("forget", crawled, url).said == ["shop: 1 page forgotten, 1 message about it"]
    assert len(keys(crawled)) == len(before) - 1
    assert json.loads(limpet("changes", crawled).out.splitlines()[-1])["type"].endswith("gone")
    ran = limpet("forget", crawled, url)
    assert ran.code == 1
    assert ran.said[0] == f"no page of the crawl, or forgotten already: {url}"
    assert limpet("crawl", crawled, "--workers", 1, "--refresh").code == 0
    assert len(keys(crawled)) == len(before) - 1
    assert any("dead (forgotten)" in line for line in limpet("show", crawled, url).out.splitlines())
    assert limpet("enqueue", crawled, url).said[-1].startswith("shop: 1 new, 0 known")
    assert limpet("crawl", crawled, "--workers", 1).code == 0
    assert keys(crawled) == before
    assert limpet("verify", crawled).code == 0


def test_a_pattern_is_asked_about_first(crawled: Path, shop: ShopServer) -> None:
    ran = limpet("forget", crawled, "--match", f"{shop.url}/product/*")
    assert ran.code == 2
    assert ran.said[-1].endswith("nobody there to ask: say --yes to forget without a question")
    assert len(keys(crawled)) == 6
    assert limpet("forget", crawled, "--match", f"{shop.url}/product/*", "--yes").said == [
        "shop: 6 pages forgotten, 6 messages about it"
    ]
    assert keys(crawled) == set()
    assert ask(crawled, "SELECT count(*) FROM records WHERE gone = 1") == [(6,)]


def test_a_pattern_that_nothing_fits_is_told(crawled: Path) -> None:
    ran = limpet("forget", crawled, "--match", "*/nowhere")
    assert (ran.code, ran.said[0]) == (1, "no page fits */nowhere")


def test_nothing_named_is_wrong_use(crawled: Path) -> None:
    ran = limpet("forget", crawled)
    assert (ran.code, ran.said) == (2, ["limpet: what? name URLs or --match"])
