"""A host that is down for a while takes no page with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.conftest import OpenShop
from e2e.helpers import Crawl, eventually, wait_for_requests

from limpet.demo.site_template import site_file

SCALE = 0.001
TEN_MINUTES = 600 * SCALE


@pytest.mark.parametrize("first_pages", [0, 20], ids=["from the start", "on the way"])
def test_ten_minutes_of_500_kill_no_page(open_shop: OpenShop, tmp_path: Path, first_pages: int) -> None:
    """Ten minutes of scaled time, robots.txt included."""
    shop = open_shop(5, 95, 0.005)
    text = site_file(shop.first_page).replace("lease=3", f"lease=3, time_scale={SCALE}")
    with Crawl(tmp_path, text) as crawl:
        if not first_pages:
            shop.fail()
        crawl.start()
        wait_for_requests(shop, first_pages, 0)
        shop.fail()

        def down_for() -> float:
            failed = [request.at for request in shop.log() if request.status == 500]
            return failed[-1] - failed[0] if failed else 0.0

        eventually(lambda: crawl.has("SELECT 1 FROM hosts WHERE rests > 0"), "the host never rests")
        eventually(lambda: down_for() >= TEN_MINUTES, "it stopped asking")
        assert crawl.ask("SELECT url, error FROM pages WHERE state = 'dead'") == []
        shop.fail(False)
        assert crawl.finish() == 0, crawl.said
        answered = [request.path for request in shop.log() if request.status == 200]
        assert len(answered) == len(set(answered)), "what had been answered was asked for again"
        assert crawl.ask("SELECT count(*) FROM records") == [(95,)]
        assert crawl.ask("SELECT url, error FROM pages WHERE state <> 'done'") == []
