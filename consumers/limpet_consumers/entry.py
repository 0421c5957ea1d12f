"""How a worker process begins: bound to its supervisor, connected, and then at work until told to stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from redis import Redis

from limpet_consumers.allow import JOB_FUNCTION
from limpet_consumers.process import die_with_parent
from limpet_consumers.tickets import Tickets
from limpet_consumers.worker import AWAY, WORKER_TTL, SliceWorker

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
) -> int:
    """Work until told to stop; returns the exit code, 0 after a stop that was asked for, else 1.

    Call it in the main thread of a process that `parent` started: it dies with it. `prepare` is called once,
    before the first fork, to import what every slice needs; it must open neither a store nor a connection.
    """
    die_with_parent(parent)
    prepare()
    client = connect(server_url)
    _wait_for(client)
    tickets = Tickets(client, crawl, store_id, function=function)
    worker = SliceWorker(tickets, name, parent=parent, on_horse_death=on_horse_death)
    worker.work()
    return 0 if worker.stopping else 1


def connect(server_url: str) -> Redis:
    """A client that may wait for a ticket: redis-py's own limit is shorter, and RQ's comes too late for
    connections that are open already.
    """
    return Redis.from_url(server_url, socket_timeout=WORKER_TTL)


def _wait_for(client: Redis) -> None:
    """Until the server answers, 1 to 60 s apart; says so once."""
    pause = 1.0
    while True:
        try:
            client.ping()
            return
        except AWAY as error:
            if pause == 1.0:
                log.warning("waiting for Redis: %s", error)
            time.sleep(pause)
            pause = min(60.0, pause * 2)
