"""What the layers found, reduced to the fewest steps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crash import shop
from crash.scenarios import crawl, flush, new_world
from crash.world import Process, World

from limpet_store import outbox


@pytest.fixture
def world() -> Iterator[World]:
    made = new_world(shop.pages(listings=1))
    with made.clock.running():
        yield made
    made.clean()


def test_a_dead_rebuilder_does_not_outlive_a_clock_that_is_set_back(world: World) -> None:
    crawl(world, "one")
    with Process(world, "two") as process:
        flush(world)
        assert process.frontier.rebuild_begin("dead", None) == "ok"
        world.clock.skew -= 3_600_000
        assert process.rebuild() is not None


def test_a_restart_does_not_wait_for_a_dead_rebuilder(world: World) -> None:
    crawl(world, "one")
    with Process(world, "two") as process:
        flush(world)
        assert process.frontier.rebuild_begin("dead", None) == "ok"
    with Process(world, "three", alone=True) as process:
        process.recover()
        assert process.frontier.cursor() is not None


def test_a_crawl_is_not_over_before_all_is_relayed(world: World) -> None:
    crawl(world, "one")
    with Process(world, "two") as process:
        flush(world)
        assert process.frontier.rebuild_begin("dead", None) == "ok"
    crawl(world, "three")
    with Process(world, "four") as process:
        assert process.frontier.cursor() == outbox.top(process.store.db)
