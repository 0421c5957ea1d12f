"""What `limpet status --watch` sees of a crawl at each look: what is cheap anew, the rest as it was counted last.

Store and Redis are opened for each look and left again. So whatever happens to them, wiped, restored or restarted, the
next look sees what is there then.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import redis

from limpet.engine import Engine
from limpet.gauges import Counted, Gauges
from limpet.looking import embedded_url
from limpet_consumers.tickets import Standing, Tickets
from limpet_store import live, outbox, rounds, standing
from limpet_store.census import Census
from limpet_store.errors import LimpetError
from limpet_store.frontier import Frontier, InHost
from limpet_store.server import Server, connect
from limpet_store.standing import HostStanding
from limpet_store.store import Store, wall_ms

PATIENCE = 1.0  # seconds for Redis to connect and per answer
FIRST_COUNT = 0.3  # seconds that a look waits for a count that is under way
RECENT = 10.0  # seconds that the rate of the moment covers
MOST_HOSTS = 60  # hosts whose place in the frontier is looked at: no screen shows more
MOST_FAILED = 50
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rate:
    """Requests a second: of the last ten seconds, and since the watching began; `over` is how long that is."""

    recent: float
    average: float
    over: float


@dataclass(frozen=True, slots=True)
class InStore:
    """What the store says; times in ms."""

    store_id: str
    top: int
    ends: live.Ends
    round: rounds.Round | None
    attempts: int  # of the newest round
    in_hand: list[live.InHand]
    failed: list[live.Failed]
    hosts_total: int
    hosts: list[HostStanding]


@dataclass(frozen=True, slots=True)
class InRedis:
    """What Redis says. `lag` is None while the frontier is to be rebuilt."""

    now: int
    lag: int | None
    work: Standing
    hosts: dict[int, InHost]


@dataclass(frozen=True, slots=True)
class View:
    """One look; `at` in ms. What could not be seen is None, and `trouble` says why in a line each."""

    crawl: str
    site_file: Path
    at: int
    rate: Rate | None
    store: InStore | None
    redis: InRedis | None
    census: Census | None
    trouble: list[str]


class Watched:
    """A crawl that is looked at again and again, in one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._census = Counted(Gauges(engine.settings, engine.site.name).count)
        self._rates = Rates()
        self._hosts: Seldom[tuple[int, list[HostStanding]]] = Seldom()
        self._failed: Seldom[list[live.Failed]] = Seldom()
        self._busy: list[int] = []
        self._last: InStore | None = None

    def look(self) -> View:
        """What there is now. Nothing that is away raises: it is said in the view, and asked again by the next look."""
        trouble: list[str] = []
        counted = self._census.latest(FIRST_COUNT)
        seen, rate = self._last, None
        try:
            seen = self._last = self._store()
            rate = self._rates.add(seen.store_id, seen.ends.attempts)
        except LimpetError as error:
            trouble.append(f"the store is away, it is asked again: {error}")
        found = self._redis(seen, trouble) if seen else None
        return View(
            self._engine.site.name, self._engine.site_file, found.now if found else wall_ms(), rate, seen, found,
            counted, trouble,
        )  # fmt: skip

    def _store(self) -> InStore:
        with closing(
            Store.open(self._engine.settings.store_path, self._engine.site.name, create=False)
        ) as store:
            ends, last = live.ends(store), rounds.last(store)
            total, hosts = self._hosts.latest(lambda: standing.hosts(store, wall_ms(), self._busy))
            return InStore(
                store_id=store.source.store_id,
                top=outbox.top(store.db)[0],
                ends=ends,
                round=last,
                attempts=ends.attempts - live.round_began(store),
                in_hand=live.in_hand(store),
                failed=self._failed.latest(lambda: live.failed(store, MOST_FAILED)),
                hosts_total=total,
                hosts=hosts,
            )

    def _redis(self, seen: InStore, trouble: list[str]) -> InRedis | None:
        url = self._engine.settings.redis_url or embedded_url(self._engine.settings.home)
        if url is None:
            trouble.append("Redis is not running: it starts with the next crawl or consume")
            return None
        try:
            with closing(Server(url, timeout=PATIENCE)) as server, connect(url, timeout=PATIENCE) as client:
                frontier = Frontier(server, self._engine.site.name, seen.store_id)
                return self._frontier(frontier, Tickets(client, self._engine.site.name, seen.store_id), seen)
        except (LimpetError, redis.RedisError, OSError) as error:
            trouble.append(_away(error, embedded=self._engine.embedded))
            return None

    def _frontier(self, frontier: Frontier, tickets: Tickets, seen: InStore) -> InRedis:
        status = frontier.status()
        self._busy = frontier.nearest(standing.MOST_HOSTS)
        ids = [host.id for host in seen.hosts[:MOST_HOSTS]]
        return InRedis(
            status.now,
            max(0, seen.top - status.cursor[0]) if status.cursor else None,
            tickets.look(),
            dict(zip(ids, frontier.hosts(ids), strict=True)),
        )


def _away(error: Exception, *, embedded: bool) -> str:
    if embedded:
        return "Redis is not running, or does not answer: it is asked again"
    return f"Redis is away, it is asked again: {error}"


class Rates:
    """Requests a second, from how many there were at each look."""

    def __init__(self) -> None:
        self._store_id = ""
        self._looks: deque[tuple[float, int]] = deque()
        self._began = (0.0, 0)

    def add(self, store_id: str, attempts: int, now: float | None = None) -> Rate | None:
        """Note a look; the rates, None at the first look at a store."""
        now = time.monotonic() if now is None else now
        if store_id != self._store_id or attempts < self._began[1]:  # restored, or made anew
            self._store_id, self._began = store_id, (now, attempts)
            self._looks.clear()
        self._looks.append((now, attempts))
        while len(self._looks) > 2 and self._looks[1][0] <= now - RECENT:
            self._looks.popleft()
        over = now - self._began[0]
        if over <= 0:
            return None
        then, had = self._looks[0]
        recent = (attempts - had) / (now - then) if now > then else 0.0
        return Rate(recent, (attempts - self._began[1]) / over, over)


class Seldom(Generic[T]):
    """Something that is read anew at most once in ten times its own duration (R-5)."""

    def __init__(self) -> None:
        self._due = 0.0
        self._last: list[T] = []

    def latest(self, read: Callable[[], T]) -> T:
        """The newest reading, made now if it is time."""
        began = time.monotonic()
        if not self._last or began >= self._due:
            self._last = [read()]
            ended = time.monotonic()
            self._due = ended + Counted.RARELY * (ended - began)
        return self._last[0]
