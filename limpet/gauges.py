"""What a crawl's metrics show of its store and its Redis, looked at when they are asked for.

Each look opens what it needs and leaves it again, in the thread that was asked. What takes longer than a moment is
counted in a thread of its own, at most once in ten times its own duration (R-5); the last count is shown meanwhile.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import redis

from limpet.looking import embedded_url
from limpet.settings import Settings
from limpet_consumers.tickets import Tickets
from limpet_store import census, outbox, rounds
from limpet_store.census import Census
from limpet_store.errors import LimpetError
from limpet_store.frontier import Frontier
from limpet_store.server import Server, connect
from limpet_store.store import Store, wall_ms

log = logging.getLogger("limpet.metrics")

PATIENCE = 1.0  # seconds for Redis to connect and per answer, and for a new count: who scrapes waits for them
Sample = tuple[str, tuple[str, ...], float]  # family, labels, value


class Gauges:
    """The gauges of one crawl; safe to use from any thread."""

    def __init__(self, settings: Settings, crawl: str) -> None:
        self._settings = settings
        self._crawl = crawl
        self._census = Counted(self.count)

    def look(self) -> Iterator[Sample]:
        """What there is now. What does not answer is left out, and said to be away."""
        counted = self._census.latest(PATIENCE)
        if counted:
            yield from _of_census(counted)
        try:
            with self._store() as store:
                yield "store_up", (), 1
                yield from self._of_store(store)
                store_id, top = store.source.store_id, outbox.top(store.db)[0]
        except LimpetError as error:
            log.info("the store is away: %s", error)
            yield "store_up", (), 0
            return
        try:
            seen = list(self._of_redis(store_id, top))
        except (LimpetError, redis.RedisError, OSError) as error:
            log.info("Redis is away: %s", error)
            yield "redis_up", (), 0
            return
        yield "redis_up", (), 1
        yield from seen

    def _of_store(self, store: Store) -> Iterator[Sample]:
        last = rounds.last(store)
        yield "round_open", (), bool(last and last.finished_at is None)
        yield "crawl_paused", (), store.db.value("SELECT paused FROM meta")

    def _of_redis(self, store_id: str, top: int) -> Iterator[Sample]:
        with self._server() as server, connect(self._url, timeout=PATIENCE) as client:
            status = Frontier(server, self._crawl, store_id).status()
            seen = Tickets(client, self._crawl, store_id).look()
        # Without a cursor all of it is to be told again.
        yield "outbox_lag_rows", (), max(0, top - (status.cursor[0] if status.cursor else 0))
        yield "workers", (), seen.workers
        yield "slices", (), seen.slices
        yield "queued_tickets", (), seen.queued
        yield "failed_tickets", (), seen.failed
        for reason, number in seen.refused.items():
            yield "refused_jobs", (reason,), number

    def count(self) -> Census:
        """Count everything once, which takes seconds where there are millions of pages. Raises LimpetError."""
        with self._store() as store:
            try:
                with self._server() as server:
                    frontier = Frontier(server, self._crawl, store.source.store_id)
                    return census.take(store, frontier, frontier.status().now)
            except LimpetError:
                return census.take(store, None, wall_ms())

    @property
    def _url(self) -> str:
        return self._settings.redis_url or embedded_url(self._settings.home) or "unix:///nowhere"

    @contextmanager
    def _store(self) -> Iterator[Store]:
        store = Store.open(self._settings.store_path, self._crawl, create=False)
        try:
            yield store
        finally:
            store.close()

    @contextmanager
    def _server(self) -> Iterator[Server]:
        server = Server(self._url, timeout=PATIENCE)
        try:
            yield server
        finally:
            server.close()


def _of_census(counted: Census) -> Iterator[Sample]:
    yield "counted_timestamp_seconds", (), counted.at
    for state, number in counted.pages.items():
        yield "stored_pages", (state,), number
    for state in ("free", "blocked", "resting", "paused", "held"):
        yield "hosts", (state,), counted.hosts.get(state, 0)
    if counted.frontier:
        yield "frontier_pages", ("ready",), counted.frontier.ready
        yield "frontier_pages", ("leased",), counted.frontier.leased
        yield "frontier_pages", ("delayed",), counted.frontier.delayed


class Counted:
    """Something that is counted anew when it is asked for, in its own thread, and not too often."""

    RARELY = 10  # times its own duration between two counts

    def __init__(self, count: Callable[[], Census]) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._done.set()
        self._due = 0.0
        self._last: Census | None = None

    def latest(self, patience: float) -> Census | None:
        """The newest count, waiting up to `patience` seconds where one is due; None before the first."""
        with self._lock:
            if self._done.is_set() and time.monotonic() >= self._due:
                self._done.clear()
                threading.Thread(target=self._run, name="limpet-count", daemon=True).start()
        self._done.wait(patience)
        return self._last

    def _run(self) -> None:
        began = time.monotonic()
        try:
            self._last = self._count()
        except LimpetError as error:
            log.info("not counted: %s", error)
        finally:
            ended = time.monotonic()
            self._due = ended + self.RARELY * (ended - began)
            self._done.set()
