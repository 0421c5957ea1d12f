"""I-12 without any crash: pages that never work do not keep a crawl from ending, nor the others of their host waiting."""

from __future__ import annotations

from typing import Any

import pytest

from crash import shop
from crash.world import Process, Website, World, work
from limpet_producer import enqueue

SHOP = shop.pages(listings=1, each=3)
TURNS = 600


def crawl(pages: dict[str, Any], *, outage: range = range(0)) -> dict[str, str]:
    """States at the end, by path; `outage` are the turns during which the site answers 500 to everything."""
    world = World(Website(pages), shop.site())
    try:
        with world.clock.running(), Process(world, "worker") as process:
            process.recover()
            enqueue.seeds(process.store, process.site.seeds, process.rules, now=process.now())
            worker = process.worker()
            for turn in range(outage.stop):
                world.website.outage = turn in outage
                worker.turn()
            world.website.outage = False
            work(process, worker, most=TURNS)
            return {url.rpartition(":8000")[2]: state for url, state in world.read("SELECT url, state FROM pages")}
    finally:
        world.clean()


@pytest.mark.xfail(strict=True, reason="C-3: its own repeats are taken for the host's, and are never charged")
def test_one_page_that_always_fails_is_dead_in_the_end() -> None:
    assert crawl(SHOP | {"/product/3": 500})["/product/3"] == "dead"


@pytest.mark.xfail(strict=True, reason="C-3: they keep the host resting")
def test_several_pages_that_always_fail_are_dead_in_the_end() -> None:
    states = crawl(SHOP | {"/product/1": 500, "/product/2": 500})
    assert states == {"/list/0": "done", "/product/1": "dead", "/product/2": "dead", "/product/3": "done"}


@pytest.mark.xfail(strict=True, reason="C-3: it is the one probe page every time")
def test_after_an_outage_a_bad_page_does_not_starve_the_others() -> None:
    states = crawl(shop.pages(listings=1, each=12) | {"/product/1": 500}, outage=range(2, 14))
    assert [path for path, state in states.items() if state != "done"] == ["/product/1"]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.xfail(strict=True, reason="C-4: a block is never the page's")
def test_one_page_that_always_blocks_does_not_hold_up_the_crawl_for_ever(status: int) -> None:
    states = crawl(SHOP | {"/product/1": status})
    assert (states["/product/1"], states["/product/2"], states["/product/3"]) == ("dead", "done", "done")
