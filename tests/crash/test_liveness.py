"""I-12 without any crash: pages that never work keep neither a crawl from ending nor their host from working."""

from __future__ import annotations

from typing import Any

import pytest
from crash import shop
from crash.world import Process, Website, World, work

from limpet_producer import enqueue

SHOP = shop.pages(listings=1, each=3)
TURNS = 600


def crawl(pages: dict[str, Any], *, outage: range = range(0), down: int = 0) -> dict[str, str]:
    """States at the end, by path. The site answers 500 to everything during the turns `outage`, and for `down` ms."""
    world = World(Website(pages), shop.site())
    try:
        with world.clock.running(), Process(world, "worker") as process:
            process.recover()
            enqueue.seeds(process.store, process.site.entries, process.rules, now=process.now())
            worker = process.worker()
            for turn in range(outage.stop):
                world.website.outage = turn in outage
                worker.turn()
            until, world.website.outage = world.clock.ms + down, down > 0
            while world.clock.ms < until:
                if not worker.turn():
                    world.clock.ms += 1_000
            world.website.outage = False
            work(process, worker, most=TURNS)
            return {
                url.rpartition(":8000")[2]: state for url, state in world.read("SELECT url, state FROM pages")
            }
    finally:
        world.clean()


def test_one_page_that_always_fails_is_dead_in_the_end() -> None:
    assert crawl(SHOP | {"/product/3": 500})["/product/3"] == "dead"


def test_several_pages_that_always_fail_are_dead_in_the_end() -> None:
    states = crawl(SHOP | {"/product/1": 500, "/product/2": 500})
    assert states == {"/list/0": "done", "/product/1": "dead", "/product/2": "dead", "/product/3": "done"}


def test_after_an_outage_a_bad_page_does_not_starve_the_others() -> None:
    states = crawl(shop.pages(listings=1, each=12) | {"/product/1": 500}, outage=range(2, 14))
    assert [path for path, state in states.items() if state != "done"] == ["/product/1"]


@pytest.mark.parametrize("status", [429, 503])
def test_one_page_that_always_blocks_does_not_hold_up_the_crawl_for_ever(status: int) -> None:
    states = crawl(SHOP | {"/product/1": status})
    assert (states["/product/1"], states["/product/2"], states["/product/3"]) == ("dead", "done", "done")


def test_a_site_that_is_down_for_ten_minutes_loses_no_page() -> None:
    states = crawl(shop.pages(listings=1, each=6), down=600_000)
    assert set(states.values()) == {"done"}
