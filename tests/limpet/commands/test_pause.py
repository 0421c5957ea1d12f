"""`limpet pause` and `limpet resume`: what they say, and what pools make of it."""

from __future__ import annotations

import json
from pathlib import Path

from front_helpers import ask, eventually, limpet, running

from limpet.demo.shop import ShopServer


def done(site: Path) -> int:
    ((count,),) = ask(site, "SELECT count(*) FROM pages WHERE state = 'done'")
    assert isinstance(count, int)
    return count


def test_a_pool_stands_still_in_a_pause_over_a_kill_of_redis_and_goes_on_by_itself(
    site: Path, shop: ShopServer
) -> None:
    assert limpet("enqueue", site, f"{shop.url}/product/1").code == 0
    assert limpet("pause", site).said == [
        "shop: paused",
        f"pages in hand are finished; `limpet resume {site}` goes on",
    ]
    with running("consume", site, "--workers", 1) as pool:
        assert pool.stderr is not None
        said = iter(pool.stderr.readline, "")
        assert any("the crawl is paused" in line for line in said)
        assert limpet("rebuild", site).code == 0
        assert limpet("enqueue", site, f"{shop.url}/product/2").code == 0
        assert json.loads(limpet("status", site, "--json").out)["paused"] is True
        assert any("the crawl is paused" in line for line in limpet("status", site).out.splitlines())
        assert done(site) == 0
        assert limpet("resume", site).said == ["shop: going on"]
        eventually(lambda: done(site) >= 2)
        assert any("the crawl goes on" in line for line in said)
    assert limpet("verify", site).code == 0


def test_a_crawl_of_a_paused_crawl_says_how_it_goes_on(site: Path, shop: ShopServer) -> None:
    assert limpet("enqueue", site, f"{shop.url}/product/1").code == 0
    limpet("pause", site)
    ran = limpet("crawl", site, "--workers", 1)
    assert ran.code == 4
    assert ran.said[-1] == f"stopped early: the crawl is paused, `limpet resume {site}` goes on"
    assert done(site) == 0
    assert limpet("show", site, f"{shop.url}/product/1").out.count("the crawl is paused") == 1
    limpet("resume", site)
    assert limpet("crawl", site, "--workers", 1).code == 0


def test_a_host_is_paused_by_name(site: Path, shop: ShopServer) -> None:
    limpet("enqueue", site, f"{shop.url}/product/1")
    host = shop.url.removeprefix("http://")
    assert limpet("pause", site, "--host", host).said == [
        f"{shop.url}: paused",
        f"pages in hand are finished; `limpet resume {site} --host {host}` goes on",
    ]
    assert limpet("pause", site, "--host", host).said == [f"{shop.url}: paused already"]
    assert limpet("crawl", site, "--workers", 1).said[-1] == "stopped early: every host is paused"
    assert limpet("resume", site, "--host", shop.url).said == [f"{shop.url}: going on"]
    assert limpet("crawl", site, "--workers", 1).code == 0


def test_a_host_that_is_none_is_one_line(site: Path, shop: ShopServer) -> None:
    limpet("enqueue", site, f"{shop.url}/product/1")
    ran = limpet("pause", site, "--host", "nowhere.example")
    assert ran.code == 2
    assert ran.said == [
        "limpet: --host nowhere.example: the crawl has no such host; `limpet status` names them"
    ]
