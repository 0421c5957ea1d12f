"""A sample of a crawl, and a crawl that is given a time."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import OpenShop
from e2e.helpers import Crawl

from limpet.demo.site_template import site_file
from limpet.exits import Exit
from limpet_store.admission import chosen


def test_a_sample_is_the_same_after_a_restart_and_the_rest_comes_when_it_is_asked_for(
    open_shop: OpenShop, tmp_path: Path
) -> None:
    shop = open_shop(2, 40)
    with Crawl(tmp_path, site_file(shop.first_page), workers=1) as crawl:
        assert crawl.run("--sample", "25%") == Exit.COMPLETE
        found = {key for (key,) in crawl.ask("SELECT key FROM records")}
        pages = crawl.ask("SELECT key, state FROM pages WHERE key LIKE '%/product/%'")
        assert len(pages) == 40, "every page is known"
        assert {key for key, state in pages if state == "done"} == {
            key for key, _ in pages if chosen(key, 0.25)
        }
        assert 0 < len(found) < 40
        assert "left out by the sample" in crawl.said
        asked = len(shop.log())
        assert crawl.run("--sample", "25%") == Exit.COMPLETE
        assert len(shop.log()) == asked
        assert crawl.run() == Exit.COMPLETE
        assert crawl.problems(shop) == []


def test_a_crawl_ends_when_its_time_is_over_and_goes_on_later(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop(2, 20)
    with Crawl(tmp_path, site_file(shop.first_page), workers=1) as crawl:
        assert crawl.run("--max-time", "0") == Exit.STOPPED_EARLY
        assert "stopped early: after 0 s, as asked for" in crawl.said
        assert crawl.run() == Exit.COMPLETE
        assert crawl.problems(shop) == []
