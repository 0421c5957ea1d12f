"""The pool as the front drives it: worker processes, their tickets, and what the dead leave behind."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable

import redis

from limpet import lost
from limpet.engine import Engine, worker_environ, worker_flags
from limpet_consumers.supervisor import Supervisor
from limpet_store import rounds
from limpet_store.errors import FrontierError, ServerRefused, StoreError

log = logging.getLogger("limpet.pool")

TICKETS_EVERY = 0.1  # seconds between two counts of who works


class Pool:
    """`workers` RQ workers on this machine for one crawl, in one life of its store."""

    def __init__(
        self, engine: Engine, workers: int, *, last_fence: int | None = None, on_line: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._workers = workers
        self._store_id = engine.store.source.store_id
        self._counted_at = 0.0
        self._trouble = False
        self._stopping = False
        command = [sys.executable, "-m", "limpet", "_worker", str(engine.site_file), *worker_flags(engine)]
        command += ["--store-id", self._store_id]
        if last_fence is not None:
            command += ["--last-fence", str(last_fence)]
        self._supervisor = Supervisor(
            command, workers, on_worker_death=self._bury, on_line=on_line, on_report=engine.take_report,
            environ=worker_environ(engine),
        )  # fmt: skip

    def start(self) -> None:
        """Start the processes and hand out their first tickets."""
        self._supervisor.start()
        self._count()

    def poll(self, wait: float) -> int:
        """See to everything once, waiting up to `wait` seconds for news; returns how many workers had died."""
        died = self._supervisor.poll(wait)
        self._engine.count("worker_deaths", died)
        if time.monotonic() - self._counted_at > TICKETS_EVERY:
            self._count()
        return died

    def _count(self) -> None:
        """Enqueue the missing tickets while anything is left to do; a Redis that died is started again."""
        self._counted_at = time.monotonic()
        try:
            if rounds.pending(self._engine.store):
                self._engine.tickets.ensure(self._workers)
            self._trouble = False
        except (redis.RedisError, OSError, FrontierError) as error:
            if not self._trouble:
                log.warning("Redis is away: %s", error)
            self._trouble = True
            self._revive()

    def _revive(self) -> None:
        """Start the embedded server again if it has died. One that lives and does not answer is waited for."""
        if self._stopping:
            return
        try:
            self._engine.revive_server()
        except ServerRefused as error:
            log.info("%s", error)

    def _bury(self, name: str) -> None:
        """A worker and its horses are gone: its pages are visible again at once."""
        try:
            lost.tell(self._engine.store, f"{name}/", "put back" if self._stopping else "lost")
            if self._stopping:
                self._engine.store.put_back(f"{name}/", now=self._engine.now())
            self._engine.frontier.reap(f"{name}/")
            self._engine.tickets.forget_worker(name)
        except (redis.RedisError, OSError, FrontierError, StoreError) as error:
            log.debug("leases of %s lapse by themselves: %s", name, error)

    def stop(self, timeout: float = 5.0) -> bool:
        """Let the workers finish or put back what they have; True when none had to be killed.

        What a killed one had in hand is put back for it: the stop was clean, its requests count for nothing.
        """
        self._stopping = True
        return self._supervisor.stop(timeout)
