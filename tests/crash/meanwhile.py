"""Who acts while worker A stands still, and how the crawl must end then."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

from crash import scenarios, shop
from crash.invariants import Truth
from crash.preempt import Preemption
from crash.scenarios import Scenario, crawl, flush
from crash.world import HOME, Process, World
from limpet_store.frontier import Frontier

LEASE = 20_000
NEW = shop.pages(listings=1, price="9", stock="8")


def worker(world: World) -> None:
    """Another worker, which works until there is nothing for it."""
    crawl(world, "other", alone=False, wait=False)


def late_worker(world: World) -> None:
    """A's leases lapse, the site changes, and another worker does everything."""
    world.clock.ms += LEASE * 3 // 2
    world.excuse()
    world.website.pages = dict(NEW)
    worker(world)


def relay(world: World) -> None:
    with Process(world, "other", alone=False) as process:
        process.relay()


def rebuild(world: World) -> None:
    """Somebody asks for a rebuild."""
    with Process(world, "other", alone=False) as process:
        process.rebuild(asked=True)


def wiped_worker(world: World) -> None:
    flush(world)
    worker(world)


class _Dies(BaseException):
    pass


def dying_rebuild(world: World) -> None:
    """A rebuild is killed before its last call; a lease and the rebuilder's token lapse."""
    flush(world)

    def die(*_: object) -> None:
        raise _Dies

    with mock.patch.object(Frontier, "rebuild_end", die), Process(world, "other", alone=False) as process:
        try:
            process.rebuild(asked=True)
        except _Dies:
            pass
    world.clock.ms += 60_000
    world.excuse()


def round_two(world: World) -> None:
    """Another process finishes the crawl and makes every page due again."""
    crawl(world, "other", round_=2, alone=False, wait=False)




def _as_seen(world: World) -> Truth:
    """Pages that are done keep what they said; the others are fetched after the change."""
    done = {url.removeprefix(HOME) for (url,) in world.read("SELECT canonical FROM pages WHERE state = 'done'")}
    body = {path: (world.website.pages if path in done else NEW)[path] for path in NEW}
    return Truth(shop.records(body), shop.states(body))


def cases() -> list[Preemption]:
    small, wiped, rebuilt = scenarios.SMALLEST, scenarios.WIPED, scenarios.REBUILT
    found = [_case(small, late_worker, _as_seen)]
    found += [_case(small, each) for each in (worker, relay, rebuild, flush, wiped_worker, dying_rebuild)]
    found += [_case(wiped, each) for each in (worker, flush, dying_rebuild)]
    found += [_case(rebuilt, each) for each in (flush, rebuild)]
    return found


def _case(
    scenario: Scenario, others: Callable[[World], None], truth: Callable[[World], Truth] | None = None
) -> Preemption:
    def act(world: World, token: str) -> None:
        crawl(world, token, alone=False) if scenario is not scenarios.REBUILT else scenario.act(world, token)

    name = f"{scenario.name}, meanwhile {others.__name__.replace('_', ' ')}"
    return Preemption(name, scenario.set_up, act, others, truth or scenario.truth, crawl)


