"""How a worker process begins: bound to its supervisor, connected, and then at work until told to stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress

from redis import Redis
from redis.exceptions import RedisError
from rq.exceptions import StopRequested

from limpet_consumers.allow import JOB_FUNCTION
from limpet_consumers.outage import REDIS, Backoff, Tell, on_its_own
from limpet_consumers.process import die_with_parent
from limpet_consumers.tickets import Tickets
from limpet_consumers.worker import WORKER_TTL, SliceWorker
from limpet_store.complaints import complaint

log = logging.getLogger("limpet.worker")


def run_worker(
    server_url: str,
    crawl: str,
    store_id: str,
    name: str,
    *,
    parent: int,
    on_horse_death: Callable[[str], None],
    prepare: Callable[[], None],
    function: str = JOB_FUNCTION,
    tell: Tell | None = None,
) -> int:
    """Work until told to stop; returns the exit code, 0 after a stop that was asked for, else 1.

    Call it in the main thread of a process that `parent` started: it dies with it. `prepare` is called once,
    before the first fork, to import what every slice needs; it must open neither a store nor a connection. `tell` hears
    of a Redis in trouble.
    """
    die_with_parent(parent)
    prepare()
    tickets = Tickets(connect(server_url), crawl, store_id, function=function)

    def worker() -> SliceWorker:
        tickets.client.ping()
        return SliceWorker(tickets, name, parent=parent, on_horse_death=on_horse_death, tell=tell)

    made = _when_it_answers(worker, tell or on_its_own(log.warning))
    with suppress(StopRequested):
        made.work()
    return 0 if made.stopping else 1


def connect(server_url: str) -> Redis:
    """A client that may wait for a ticket: redis-py's own limit is shorter, and RQ's comes too late for
    connections that are open already.
    """
    return Redis.from_url(server_url, socket_timeout=WORKER_TTL)


def _when_it_answers(make: Callable[[], SliceWorker], tell: Tell) -> SliceWorker:
    """What `make` makes once Redis answers."""
    backoff = Backoff()
    while True:
        try:
            made = make()
        except RedisError as error:
            tell(REDIS, complaint(error))
            time.sleep(backoff())
        else:
            tell(REDIS, None)
            return made
