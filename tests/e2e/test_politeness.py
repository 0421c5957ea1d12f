"""A host's limits by the site's own log, while workers die and Redis is wiped (I-16)."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

from e2e.conftest import OpenShop
from e2e.helpers import Crawl, wait_for_requests

from limpet.demo.site_template import site_file
from limpet_store.server import connect
from limpet_store.valkey import socket_path

DELAY = 0.25  # seconds from start to start
EARLY = 0.03  # the site notes a request when it has read it, a little after it left: two of them differ


def test_a_hosts_delay_holds_over_kills_and_a_wipe(open_shop: OpenShop, tmp_path: Path) -> None:
    shop, choice = open_shop(1, 10), random.Random(5)
    text = site_file(shop.first_page, lease=2).replace(
        "allow_private=True", f"allow_private=True, delay={DELAY}"
    )
    assert f"delay={DELAY}" in text
    with Crawl(tmp_path, text) as crawl:
        crawl.start()
        for harm in ("kill", "wipe", "kill"):
            wait_for_requests(shop, 3, shop.mark())
            if harm == "kill":
                crawl.kill_one_worker(choice)
            else:
                with connect(f"unix://{socket_path(crawl.home)}") as redis:
                    redis.flushall()
        assert crawl.finish() == 0, crawl.said
        times = [request.at for request in shop.log()]
        assert len(times) >= 12
        assert min(after - before for before, after in pairwise(times)) > DELAY - EARLY
        assert len(crawl.versions()) == 10
