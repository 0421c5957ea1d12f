"""Who acts while worker A stands still, and how the crawl must end then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from unittest import mock

from crash import scenarios, shop
from crash.authored import HANDED, LOGIN, REQUIRED, TOKENS
from crash.invariants import Truth
from crash.preempt import Preemption
from crash.scenarios import Scenario, crawl, flush, help_out
from crash.world import HOME, Process, World

from limpet_producer import enqueue
from limpet_store.errors import FrontierUnavailable
from limpet_store.frontier import Frontier

LEASE = 20_000
OLD = shop.pages(listings=1) | {"/product/1": 404}
NEW = shop.pages(listings=1, price="9", stock="8")


def worker(world: World) -> None:
    """Another worker, which works until there is nothing for it."""
    help_out(world, "other")


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

    def die(*_: object, **__: object) -> None:
        raise _Dies

    with mock.patch.object(Frontier, "rebuild_end", die), Process(world, "other", alone=False) as process:
        try:
            process.rebuild(asked=True)
        except _Dies:
            pass
    world.clock.ms += 60_000
    world.excuse()


def _as_seen(world: World) -> Truth:
    """Pages that were seen keep what they said; the others are fetched after the change."""
    rows = world.read("SELECT canonical FROM pages WHERE state <> 'pending'")
    seen = {url.removeprefix(HOME) for (url,) in rows}
    body = {path: (world.website.pages if path in seen else NEW)[path] for path in NEW}
    return Truth(shop.records(body), shop.states(body))


def cases() -> list[Preemption]:
    small, wiped, rebuilt = scenarios.SMALLEST, scenarios.WIPED, scenarios.REBUILT
    back = Scenario("a page that comes back", lambda: scenarios.new_world(OLD), crawl, _as_seen)
    found = [_case(back, late_worker)]
    found += [_case(small, each) for each in (worker, relay, rebuild, flush, wiped_worker, dying_rebuild)]
    found += [_case(wiped, each) for each in (worker, flush, dying_rebuild)]
    found += [_case(rebuilt, each) for each in (flush, rebuild)]
    found += [
        _case(each, other) for each in (HANDED, TOKENS, REQUIRED, LOGIN) for other in (worker, wiped_worker)
    ]
    return found


def _case(scenario: Scenario, others: Callable[[World], None]) -> Preemption:
    def act(world: World, token: str) -> None:
        """As a command and a worker do it, on a Redis that may be used from elsewhere too."""
        if scenario is scenarios.REBUILT:
            with Process(world, token, alone=False) as process:
                process.rebuild(asked=True)
        else:
            with Process(world, token, alone=False) as process:
                enqueue.seeds(process.store, process.site.entries, process.rules, now=process.now())
                with suppress(
                    FrontierUnavailable
                ):  # somebody has been rebuilding for too long: the workers relay
                    process.relay()
        help_out(world, token, wait=True)

    name = f"{scenario.name}, meanwhile {others.__name__.replace('_', ' ')}"
    return Preemption(name, scenario.set_up, act, others, scenario.truth, crawl)
