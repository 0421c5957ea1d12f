"""What somebody meets who is still writing a site: handlers that fail, and what happens when they are mended."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import OpenShop
from e2e.helpers import Crawl

from limpet.demo.site_template import site_file

BUG = "1 / 0  # a slip"


def test_a_handler_that_fails_is_named_and_a_mended_one_is_tried_at_once(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(1, 5)
    right = site_file(shop.first_page)
    head = "def product(page: Page):\n"
    assert head in right
    with Crawl(tmp_path, right.replace(head, f"{head}    {BUG}\n"), workers=1) as crawl:
        assert crawl.run("--wait", "0") == 4
        assert "ZeroDivisionError" in crawl.said
        assert "tried again later" in crawl.said
        crawl.site.write_text(right)
        assert crawl.run("--wait", "0") == 0, crawl.said
        assert "handlers have changed since" in crawl.said
        assert len(crawl.versions()) == 5


def test_one_page_that_always_fails_does_not_keep_the_others_from_their_next_round(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(1, 5)
    right = site_file(shop.first_page)
    head = "def product(page: Page):\n"
    broken = f'    assert not page.url.endswith("/product/3"), "{BUG}"\n'
    with Crawl(tmp_path, right.replace(head, head + broken), workers=1) as crawl:
        assert crawl.run("--wait", "0") == 4
        mark = shop.mark()
        assert crawl.run("--wait", "0", "--refresh") == 4
        asked = [request.path for request in shop.requests_since(mark)]
        assert {"/list/0", "/product/1", "/product/4"} <= set(asked)
        assert "ends with pages that failed" in crawl.said
        assert crawl.ask("SELECT count(*), count(finished_at) FROM rounds") == [(2, 1)]
