"""What is killed: commands as users run them, small enough to be killed everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

from crash import shop
from crash.explore import Scenario
from crash.invariants import Truth
from crash.world import HOME, Process, Website, World, work

from limpet_producer import enqueue
from limpet_store import rounds
from limpet_store.items import Link
from limpet_store.relay import Relay
from limpet_store.scope import Scope


def crawl(world: World, token: str, *, round_: int = 1, alone: bool = True) -> None:
    """`limpet crawl`, or with `round_` above 1 what `--refresh` does: recover, seeds, round, work, finish."""
    with Process(world, token, alone=alone) as process:
        store = process.store
        process.recover()
        enqueue.seeds(store, process.site.entries, process.rules, now=process.now())
        last = rounds.last(store)
        if last and last.finished_at is not None and last.number < round_ and not rounds.pending(store):
            rounds.start(store, "asked for", process.now())
        rounds.refresh(store, process.now())
        process.relay()
        work(process, process.worker())
        rounds.finish(store, process.now())
        process.relay()


def help_out(world: World, token: str, *, wait: bool = False) -> None:
    """One slice of one more worker: it leases before it relays, and ends when there is nothing for it."""
    with Process(world, token, alone=False) as process:
        work(process, process.worker(), wait=wait)


def new_world(pages: dict[str, Any], **site: Any) -> World:
    """Nothing has happened yet."""
    return World(Website(dict(pages)), shop.site(**site))


def _after(pages: dict[str, Any], then: Callable[[World], None], **site: Any) -> Callable[[], World]:
    """A world whose first round is over, with a change made to it."""

    def set_up() -> World:
        world = new_world(pages, **site)
        with world.clock.running():
            crawl(world, "setup")
            world.website.log.clear()
            world.clock.ms += 60_000
            then(world)
        return world

    return set_up


def _half(pages: dict[str, Any], then: Callable[[World], None], turns: int = 3) -> Callable[[], World]:
    """A world whose worker was killed after some turns, its last pages fetched and not committed."""

    def set_up() -> World:
        world = new_world(pages)
        with world.clock.running():
            with Process(world, "setup") as process:
                process.recover()
                enqueue.seeds(process.store, process.site.entries, process.rules, now=process.now())
                worker = process.worker()
                for _ in range(turns):
                    worker.turn()
            world.excuse()
            then(world)
        return world

    return set_up


def flush(world: World) -> None:
    """FLUSHALL."""
    world.client().flushall()


def _truth(
    records: dict[Any, Any], states: dict[str, str], *, quiet: bool = True
) -> Callable[[World], Truth]:
    return lambda world: Truth(dict(records), dict(states), quiet=quiet)


def _again(world: World, token: str) -> None:
    crawl(world, token, round_=2)


PAGES = shop.pages()
RECORDS, STATES = shop.records(PAGES), shop.states(PAGES)
SMALL = shop.pages(listings=1)
SMALL_RECORDS, SMALL_STATES = shop.records(SMALL), shop.states(SMALL)

FIRST = Scenario("first crawl", lambda: new_world(PAGES), crawl, _truth(RECORDS, STATES))
SMALLEST = Scenario("smallest crawl", lambda: new_world(SMALL), crawl, _truth(SMALL_RECORDS, SMALL_STATES))
ELSEWHERE = Scenario(
    "leases that lapse", lambda: new_world(SMALL), lambda world, token: crawl(world, token, alone=False),
    _truth(SMALL_RECORDS, SMALL_STATES),
)  # fmt: skip
POLITE = Scenario(
    "robots and a delay",
    lambda: new_world(SMALL, robots=True, delay=0.5),
    crawl,
    _truth(SMALL_RECORDS, SMALL_STATES),
)

CHANGED = PAGES | {"/list/0": shop.listing({"1": "9"}, "/list/1"), "/product/2": shop.product("2", "0")}


def _change(world: World) -> None:
    world.website.pages = dict(CHANGED)


RECRAWL = Scenario(
    "recrawl with changes", _after(PAGES, _change), _again,
    _truth(shop.records(CHANGED, versions={"1": 3, "2": 3}), shop.states(CHANGED)),
)  # fmt: skip


def _lose(world: World) -> None:
    world.website.pages |= {"/product/1": 410, "/product/2": 404}


GONE = Scenario(
    "pages that go", _after(PAGES, _lose), _again,
    _truth(
        RECORDS | {("product", "1"): (3, {"price": "1"}), ("seller", "s1"): (2, None)},
        STATES | {"/product/1": "gone"},
    ),
)  # fmt: skip


def _failing(**pages: Any) -> Callable[[], World]:
    def set_up() -> World:
        world = new_world(SMALL | pages.get("pages", {}))
        world.site.tune(max_attempts=3)
        world.website.first = pages.get("first", {})
        return world

    return set_up


RETRIED = Scenario(
    "a page that fails twice",
    _failing(first={"/product/1": [500, 0]}),
    crawl,
    _truth(SMALL_RECORDS, SMALL_STATES),
)
_WITHOUT = {("product", "1"): (1, {"price": "1"})}
DEAD = Scenario(
    "a page that always fails", _failing(pages={"/product/1": 500}), crawl,
    _truth(_WITHOUT, SMALL_STATES | {"/product/1": "dead"}),
)  # fmt: skip
BROKEN = Scenario(
    "a handler that fails", _failing(pages={"/product/1": shop.product("1", "5", broken=True)}), crawl,
    _truth(_WITHOUT, SMALL_STATES | {"/product/1": "dead"}),
)  # fmt: skip
ALIAS = Scenario(
    "a redirect", _failing(pages={"/product/1": "/product/7", "/product/7": shop.product("7", "2")}), crawl,
    _truth(
        _WITHOUT | {("product", "7"): (1, {"stock": "2"}), ("seller", "s7"): (1, {"of": "7"})},
        SMALL_STATES | {"/product/1": "alias", "/product/7": "done"},
    ),
)  # fmt: skip

WIPED = Scenario("FLUSHALL in the middle", _half(PAGES, flush), crawl, _truth(RECORDS, STATES))
WIPED_SMALL = Scenario(
    "FLUSHALL in the middle of a small one", _half(SMALL, flush, turns=2), crawl,
    _truth(SMALL_RECORDS, SMALL_STATES),
)  # fmt: skip


def _rebuild(world: World, token: str) -> None:
    with Process(world, token, alone=False) as process:
        process.rebuild(asked=True)
    crawl(world, token)


REBUILT = Scenario(
    "a rebuild that was asked for", _half(PAGES, lambda world: None), _rebuild, _truth(RECORDS, STATES)
)


def _relay(world: World, token: str) -> None:
    with Process(world, token) as process:
        process.relay()


def _unrelayed() -> World:
    """A worker committed, and died before it relayed: twice."""
    world = _half(SMALL, lambda world: None, turns=1)()
    with world.clock.running(), Process(world, "setup") as process:
        worker = process.worker()
        process.recover()
        with mock.patch.object(Relay, "run", return_value=0):
            worker.turn()
            worker.turn()
    return world


RELAY = Scenario(
    "relay alone", _unrelayed, _relay,
    _truth(_WITHOUT, SMALL_STATES | {"/product/1": "pending"}, quiet=False),
)  # fmt: skip


def _more(world: World, token: str) -> None:
    with Process(world, token) as process:
        process.relay()
        wanted = [Link(f"{HOME}/product/9"), Link(f"{HOME}/product/1")]
        enqueue.links(process.store, wanted, Scope(process.store.db), process.rules, now=process.now())
    crawl(world, token)


def _unlinked(world: World) -> None:
    world.website.pages["/product/9"] = shop.product("9", "4")


ENQUEUE = Scenario(
    "enqueue", _after(SMALL, _unlinked), _more,
    _truth(
        SMALL_RECORDS | {("product", "9"): (1, {"stock": "4"}), ("seller", "s9"): (1, {"of": "9"})},
        SMALL_STATES | {"/product/9": "done"},
    ),
)  # fmt: skip

SCENARIOS = [
    FIRST, RECRAWL, GONE, RETRIED, DEAD, BROKEN, ALIAS, WIPED, REBUILT, RELAY, ENQUEUE, POLITE, ELSEWHERE,
]  # fmt: skip
TWICE = [SMALLEST, WIPED_SMALL]
