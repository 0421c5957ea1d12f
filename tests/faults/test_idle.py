"""A pool with nothing to do: it asks next to nothing of Redis, and there is no ticket for it."""

from __future__ import annotations

import threading
from pathlib import Path

from e2e.helpers import Crawl, eventually
from front_helpers import SITE, limpet

from limpet_store.server import connect
from limpet_store.valkey import socket_path

SECONDS = 3.0
WORKERS = 2


def test_two_idle_workers_ask_redis_less_than_once_a_second_each(tmp_path: Path) -> None:
    with Crawl(
        tmp_path, SITE.format(seed="http://127.0.0.1:9/", body="pass"), name="shop", workers=WORKERS
    ) as crawl:
        crawl.start(command="consume")
        eventually(lambda: (crawl.home / "valkey.lock").exists() and (crawl.home / "shop.db").exists())
        eventually(lambda: limpet("status", crawl.site).out.count("2 on all") == 1, "no workers")
        with connect(f"unix://{socket_path(crawl.home)}") as client:
            before = int(client.info("stats")["total_commands_processed"])
            threading.Event().wait(SECONDS)
            after = int(client.info("stats")["total_commands_processed"])
            assert client.keys("rq:job:*") == []
        asked = after - before - 1  # this look
        print(f"{asked / SECONDS:.1f} commands/s of a pool of {WORKERS} that has nothing to do")
        assert 0 <= asked <= SECONDS * WORKERS
