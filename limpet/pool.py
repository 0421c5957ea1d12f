"""The pool as the front drives it: worker processes, their tickets, and what the dead leave behind."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis.exceptions import RedisError

from limpet import lost
from limpet.engine import Engine, worker_environ, worker_flags
from limpet_consumers.outage import FIRST, REDIS, STORE, Backoff, Outages, in_words, what_fails
from limpet_consumers.supervisor import Supervisor
from limpet_store import rounds
from limpet_store.complaints import complaint
from limpet_store.errors import FrontierError, ServerRefused, StoreError, StoreUnavailable
from limpet_store.store import wall_ms

log = logging.getLogger("limpet.pool")

TICKETS_EVERY = 0.1  # seconds between two counts of who works
BURY_EVERY = 1.0  # seconds between two looks for workers of which nobody sees to what they left
GRACE = 3.0  # seconds that a stop leaves to the workers; they have the rest of its five to be buried
PATIENCE, LAST_PATIENCE = 5.0, 1.0  # seconds that a supervisor waits for those who write, and while it stops


class Pool:
    """`workers` RQ workers on this machine for one crawl, in one life of its store."""

    def __init__(
        self, engine: Engine, workers: int, *, last_fence: int | None = None, on_line: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._workers = workers
        self.store_id = engine.store.source.store_id
        self._count_at = self._rest_until = self._bury_at = 0.0
        self._outages = Outages(log.warning)
        self._counting, self._looking = Backoff(), Backoff()
        self._draining = self._stopping = False
        self._given_up: set[str] = set()  # what was of no use in burying the last one, while stopping
        command = [sys.executable, "-m", "limpet", "_worker", str(engine.site_file), *worker_flags(engine)]
        command += ["--store-id", self.store_id]
        if last_fence is not None:
            command += ["--last-fence", str(last_fence)]
        self._supervisor = Supervisor(
            command, workers, on_worker_death=self._bury, on_line=on_line, on_report=self._hear,
            environ=worker_environ(engine),
        )  # fmt: skip

    def start(self) -> None:
        """Start the processes and hand out their first tickets."""
        self._engine.store.db.hurry(PATIENCE)  # who waits for a lock sees to nothing else
        self._supervisor.start()
        self._count()

    def poll(self, wait: float) -> int:
        """See to everything once, waiting up to `wait` seconds for news; returns how many workers had died."""
        died = self._supervisor.poll(wait)
        self._engine.count("worker_deaths", died)
        self._outages.look()
        if time.monotonic() >= self._bury_at:
            self._bury_strangers()
        if time.monotonic() >= self._count_at:
            self._count()
        return died

    def rests(self) -> bool:
        """Whether what `waits_out` met is left alone for now."""
        return time.monotonic() < self._rest_until

    @contextmanager
    def waits_out(self) -> Iterator[None]:
        """Around what the front does beside its pool: an outage is told once, and what it ended is to be tried again
        when `rests` does not hold any more."""
        try:
            yield
        except (FrontierError, StoreUnavailable, OSError) as error:
            if (what := what_fails(error)) is None:
                raise
            self._outages.tell(f"front {what}", what, in_words(error))
            self._rest_until = time.monotonic() + self._looking()
        else:
            self._looking.over()
            for what in (REDIS, STORE):
                self._outages.tell(f"front {what}", what, None)

    def _hear(self, report: str) -> None:
        """What a worker has to say to its supervisor: of an outage, or what it has counted."""
        if not self._outages.heard(report):
            self._engine.take_report(report)

    def _count(self) -> None:
        """Enqueue the missing tickets while anything is left to do; a Redis that died is started again."""
        self._count_at = time.monotonic() + TICKETS_EVERY
        try:
            if not self._draining and rounds.pending(self._engine.store):
                self._engine.tickets.ensure(self._workers)
        except StoreUnavailable as error:
            self._outages.tell("tickets", STORE, in_words(error))
            self._count_at = time.monotonic() + self._counting()
        except (RedisError, FrontierError, OSError) as error:
            told = str(error) if isinstance(error, FrontierError) else complaint(error)
            self._outages.tell("tickets", REDIS, told)
            wait = self._counting()
            self._count_at = time.monotonic() + (TICKETS_EVERY if wait == FIRST and self._revived() else wait)
        else:
            self._counting.over()
            for what in (REDIS, STORE):
                self._outages.tell("tickets", what, None)

    def _revived(self) -> bool:
        """Start the embedded server again if it has died. One that lives and does not answer is waited for."""
        try:
            return not self._stopping and self._engine.revive_server()
        except (ServerRefused, OSError) as error:
            log.info("%s", error)
            return False

    def _bury_strangers(self) -> None:
        """Workers of another pool on this machine whose supervisor died with them: nobody else sees to their pages."""
        self._bury_at = time.monotonic() + BURY_EVERY
        with self._or_not(REDIS, "other pools"):
            self._engine.presence().keep()
            self._engine.bury()

    def _bury(self, name: str) -> None:
        """A worker and its horses are gone: its pages are visible again at once."""
        self._outages.forget(name)
        store = self._engine.store
        if STORE not in self._given_up:
            with self._or_not(STORE, name):
                lost.tell(store, f"{name}/", "put back" if self._stopping else "lost")
                if self._stopping:
                    store.put_back(f"{name}/", now=wall_ms())
        if REDIS not in self._given_up:
            with self._or_not(REDIS, name):
                self._engine.frontier.reap(f"{name}/")
                self._engine.tickets.forget_worker(name)

    @contextmanager
    def _or_not(self, what: str, name: str) -> Iterator[None]:
        """Around what is done for a dead worker: without it its leases lapse. A stop tries in vain only once."""
        try:
            yield
        except (RedisError, OSError, FrontierError, StoreError) as error:
            log.debug("leases of %s lapse by themselves: %s", name, error)
            if self._stopping:
                self._given_up.add(what)

    def drain(self) -> None:
        """Let the workers finish what they have leased and take nothing new; `poll` until none is `left`."""
        self._draining = True
        self._supervisor.drain()

    @property
    def left(self) -> int:
        """Workers that have not ended."""
        return self._supervisor.left

    def well(self) -> None:
        """Store and Redis have just done what was asked of them, and nobody works any more: no outage is left."""
        self._outages.end()

    def stop(self, timeout: float = GRACE) -> bool:
        """Let the workers finish or put back what they have; True when none had to be killed.

        What a killed one had in hand is put back for it: the stop was clean, its requests count for nothing.
        """
        self._stopping = True
        self._engine.store.db.hurry(LAST_PATIENCE)
        return self._supervisor.stop(timeout)
