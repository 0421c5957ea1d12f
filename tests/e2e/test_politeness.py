"""A host's limits by the site's own log, while workers die and Redis is wiped (I-16)."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path

from e2e.conftest import OpenShop
from e2e.helpers import Crawl, eventually, wait_for_requests
from e2e.slow_host import SlowHost, slow_host

from limpet.demo import killing
from limpet.demo.site_template import site_file
from limpet_consumers.process import die_with_parent
from limpet_store.presence import Living, living
from limpet_store.server import Server, connect
from limpet_store.valkey import socket_path

DELAY = 0.25  # seconds from start to start
EARLY = 0.03  # the site notes a request when it has read it, a little after it left: two of them differ


def test_a_hosts_delay_holds_over_kills_and_a_wipe(open_shop: OpenShop, tmp_path: Path) -> None:
    shop, choice = open_shop(1, 10), random.Random(5)
    text = site_file(shop.first_page, lease=2).replace(
        "allow_private=True", f"allow_private=True, delay={DELAY}"
    )
    assert f"delay={DELAY}" in text
    with Crawl(tmp_path, text) as crawl:
        crawl.start()
        for harm in ("kill", "wipe", "kill"):
            wait_for_requests(shop, 3, shop.mark())
            if harm == "kill":
                crawl.kill_one_worker(choice)
            else:
                with connect(f"unix://{socket_path(crawl.home)}") as redis:
                    redis.flushall()
        assert crawl.finish() == 0, crawl.said
        times = [request.at for request in shop.log()]
        assert len(times) >= 12
        assert min(after - before for before, after in pairwise(times)) > DELAY - EARLY
        assert len(crawl.versions()) == 10


SHARED = """\
from limpet import Record, Site

site = Site("shared", [f"{url}/p/{{n}}" for n in range(1000)], allow_private=True, delay=0.2, max_in_flight=2)
site.tune(lease=1.5)


@site.page("/p/{{n}}")
def product(page):
    yield Record("product", page.params["n"], {{"name": page.one("b::text")}})
"""
KILLS, WIPE_AFTER = 20, 10
BETWEEN = 2  # requests between two kills


class Machine:
    """A pool of workers as another machine would have it: a home and a session of its own, nobody else's memory."""

    def __init__(self, folder: Path, site: Path, environment: dict[str, str]) -> None:
        self.home = folder
        self._command = [
            sys.executable,
            "-m",
            "limpet",
            "consume",
            str(site),
            "--home",
            str(folder),
            "--workers",
            "2",
        ]
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._talk = folder.with_suffix(".talk")

    @property
    def said(self) -> str:
        return self._talk.read_text(errors="replace")

    def keep_up(self) -> None:
        """Start it, unless it runs."""
        if self._process is None or self._process.poll() is not None:
            parent = os.getpid()
            with self._talk.open("ab") as talk:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.DEVNULL, stdout=talk, stderr=talk, start_new_session=True,
                    preexec_fn=lambda: die_with_parent(parent), env=self._environment,
                )  # fmt: skip

    def kill_one(self, choice: random.Random) -> None:
        """The command, a worker or a work-horse, once there is one."""
        killing.kill([eventually(lambda: self._alive(choice), self.said, 20).pid])

    def _alive(self, choice: random.Random) -> Living | None:
        self.keep_up()
        found = living(self.home)
        return choice.choice(found) if found else None

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        killing.kill(who.pid for who in living(self.home))


@contextmanager
def two_machines(folder: Path, host: SlowHost, redis_url: str) -> Iterator[list[Machine]]:
    """Both work on one store through one Redis, and have its pages."""
    site = folder / "shared.py"
    site.write_text(SHARED.format(url=host.url))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")}
    environment |= {"LIMPET_REDIS_URL": redis_url, "LIMPET_STORE_URL": str(folder / "shared.db")}
    first = [
        sys.executable,
        "-m",
        "limpet",
        "crawl",
        str(site),
        "--wait",
        "0",
        "--workers",
        "1",
        "--limit",
        "1",
    ]
    subprocess.run(first, env=environment, capture_output=True, timeout=60, check=False)
    with ExitStack() as stack:
        machines = [Machine(folder / name, site, environment) for name in ("one", "other")]
        for machine in machines:
            stack.callback(machine.end)
        yield machines


def test_two_machines_keep_one_hosts_limits_over_twenty_kills_and_a_wipe(
    real_server: Server, valkey_url: str, tmp_path: Path
) -> None:
    choice, until = random.Random(7), time.monotonic() + 100
    with slow_host(*[0.02] * 9, *[1.0] * 3) as host, two_machines(tmp_path, host, valkey_url) as machines:
        for kill in range(KILLS):
            seen = len(host.spans)
            while len(host.spans) < seen + BETWEEN:
                for machine in machines:
                    machine.keep_up()
                time.sleep(0.005)
                assert time.monotonic() < until, "nobody works any more"
            choice.choice(machines).kill_one(choice)
            if kill == WIPE_AFTER:
                real_server.command("FLUSHALL")
        gaps = host.gaps
        assert min(gaps) > 0.2 - EARLY
        assert host.most_at_once == 2
        assert statistics.median(gaps) < 0.5, "it is so slow that no limit could be broken"
