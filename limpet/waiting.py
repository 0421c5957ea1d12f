"""Why a page that is to be fetched has not been: everything that stands before its request, in its order."""

from __future__ import annotations

from collections.abc import Iterator

from limpet.engine import Engine
from limpet.looking import Glimpse
from limpet.shown import seconds
from limpet_store import pausing, story
from limpet_store.frontier import Glance
from limpet_store.presence import WORKING, living
from limpet_store.retry import LOGINS, LONGEST, effective
from limpet_store.store import Store
from limpet_store.story import HostFacts, PageFacts
from limpet_store.summary import counted

HELD = {
    "sample": "it is not in the sample: a `limpet crawl` without --sample visits it",
    "token": "the token in its URL was refused: the page that leads to it has to lead to it again",
}


def reasons(engine: Engine, page: PageFacts, seen: Glimpse, now: int) -> Iterator[str]:
    """Nothing for a page that waits for nothing. `now` is in ms of the frontier's clock."""
    if page.state == "held":
        yield HELD.get(page.reason or "", "held")
    if page.state != "pending":
        return
    store = engine.existing_store()
    host = story.host(store, page.host)
    glance = seen.live.frontier.glance(page.id, page.host) if seen.live else None
    workers = [who for who in living(engine.settings.home, WORKING) if who.role == "worker"]
    if page.open:
        yield _in_flight(glance, now, bool(workers))
        return
    yield from _own(page, now)
    if pausing.is_paused(store):
        yield f"the crawl is paused: `limpet resume {engine.site_file.name}` goes on"
    yield from _of_host(store, host, page, now)
    yield from _of_frontier(glance, page, now)
    if not workers:
        yield f"nobody works on this machine: `limpet crawl {engine.site_file.name}`"
    if page.kind == "page":
        yield from _queue(store, host, now)


def _in_flight(glance: Glance | None, now: int, working: bool) -> str:
    until = glance.leased_until if glance else None
    lease = f", leased for another {seconds((until - now) / 1000)}" if until and until > now else ""
    dead = "" if working else "; its worker is dead or elsewhere, and the next run goes on with it"
    return f"in flight{lease}{dead}"


def _own(page: PageFacts, now: int) -> Iterator[str]:
    due = effective(page.due_at, now)
    if due > now:
        why = f" after {counted(page.failures, 'failure')}" if page.failures else ""
        yield f"due in {seconds((due - now) / 1000)}{why}"
    else:
        yield f"due for {seconds((now - page.due_at) / 1000)}" if page.due_at < now else "due now"


def _of_host(store: Store, host: HostFacts, page: PageFacts, now: int) -> Iterator[str]:
    if host.paused:
        yield f"{host.origin} is paused"
    if host.logins >= LOGINS:
        yield f"logins to {host.origin} fail, and the next `limpet crawl` tries again: {host.error or 'no reason kept'}"
    if now < host.blocked_until <= now + LONGEST:
        rest = seconds((host.blocked_until - now) / 1000)
        yield f"{host.origin} is left alone for another {rest}: {host.error or 'no reason kept'}"
    elif host.rests:
        yield f"{host.origin} is asked with one page at a time: {host.error or 'it failed before'}"
    if host.robots is None and host.robots_page not in (0, page.id):
        first = story.page(store, host.robots_page)
        said = f" ({first.error})" if first and first.error else ""
        yield f"robots.txt of {host.origin} is not known yet{said}, and comes first"


def _of_frontier(glance: Glance | None, page: PageFacts, now: int) -> Iterator[str]:
    if glance is None:
        return
    if glance.leased_until and glance.leased_until > now:
        yield f"a worker has it, leased for another {seconds((glance.leased_until - now) / 1000)}"
    elif glance.visible_at is None:
        yield "the frontier does not have it yet: it is due later than in an hour, or its row is still to be relayed"


def _queue(store: Store, host: HostFacts, now: int) -> Iterator[str]:
    before = story.waiting_on(store, host.id, now)
    if before > 1 and host.delay:
        known = f"{before}" if before < story.MOST_WAITING else f"more than {before}"
        yield f"{known} pages of {host.origin} are due, one each {seconds(host.delay / 1000)}"
