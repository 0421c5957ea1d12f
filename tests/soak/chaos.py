"""Two pools on one crawl of which something is killed, stopped or wiped all the time, and what came of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from e2e.helpers import Crawl, eventually
from redis.exceptions import RedisError

from limpet.demo import checking, killing
from limpet.demo.shop import ShopServer
from limpet_consumers.process import die_with_parent
from limpet_store import summary, verify
from limpet_store.errors import LimpetError
from limpet_store.outcome import Kind
from limpet_store.presence import living
from limpet_store.server import connect
from limpet_store.valkey import socket_path

LEASE = 2.0  # seconds, of the site below
RATE = 2.0  # strikes a second
POOLS, WORKERS = 2, 2
SITE = """\
from limpet import Page, Record, Site

site = Site("demo-shop", seeds=["{seed}"], allow_private=True)
site.tune(lease={lease})


@site.page("/list/{{n}}", refresh="5s")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        yield page.link(card.css("a"), to=product)


@site.page("/product/{{n}}", refresh="2s")
def product(page: Page):
    yield Record(
        "product",
        key=page.one(".sku::text"),
        data={{"name": page.one(".name::text"), "price": page.one(".price::text"), "url": page.url}},
    )
"""


@dataclass
class Tally:
    """What was done to it, and what it did."""

    strikes: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0  # pages in flight at the strikes, summed
    started: int = 0  # pools
    price_changes: int = 0
    longest_pause: float = 0.0  # seconds without a page


class Chaos:
    """One crawl under attack. Use it in a `with` block."""

    def __init__(self, folder: Path, shop: ShopServer, seed: int) -> None:
        self.shop = shop
        self.tally = Tally()
        self.crawl = Crawl(folder, SITE.format(seed=shop.first_page, lease=LEASE), workers=WORKERS)
        self._random = random.Random(seed)
        self._pools: list[subprocess.Popen[bytes] | None] = [None] * POOLS
        self._stopped: dict[int, float] = {}  # pid -> when it goes on
        self._talk = folder / "talk-of-pools"
        self._window = killing.Window(self.crawl.home / "demo-shop.db", "demo-shop")
        self._pages, self._since = 0, 0.0
        self._ways: dict[str, tuple[int, Callable[[], bool]]] = {
            "work-horse killed": (35, lambda: self._kill("horse")),
            "worker killed": (20, lambda: self._kill("worker")),
            "supervisor killed": (8, self._kill_front),
            "Valkey killed": (6, self._kill_valkey),
            "Valkey wiped": (6, self._wipe),
            "everything killed": (2, self._kill_everything),
            "worker stopped": (8, lambda: self._stop("worker")),
            "work-horse stopped": (15, lambda: self._stop("horse")),
        }

    def __enter__(self) -> Chaos:
        return self

    def __exit__(self, *_: object) -> None:
        self._continue(at=float("inf"))
        for pool in self._pools:
            if pool is not None:
                pool.kill()
                pool.wait()
        self._window.close()
        self.crawl.__exit__()

    # -- the attack

    def run(self, seconds: float) -> None:
        """Strike RATE times a second in the mean, at random moments, and start again what has ended."""
        self._since = time.monotonic()
        until = time.monotonic() + seconds
        strike_at = time.monotonic() + 2.0
        while (now := time.monotonic()) < until:
            self._supervise()
            self._continue(at=now)
            self._watch(now)
            if now >= strike_at:
                self._strike()
                strike_at = now + self._random.expovariate(RATE)
            time.sleep(0.01)  # the moments are chance's: there is no event to wait for
        self._continue(at=float("inf"))

    def settle(self) -> None:
        """Stop the pools as an operator does, and crawl once more, undisturbed: all pages as the shop has them now."""
        for pool in filter(None, self._pools):
            pool.send_signal(signal.SIGTERM)
        for pool in filter(None, self._pools):
            pool.wait(30)
        self._pools = []
        self.tally.in_flight += self.crawl.put_back()
        assert self.crawl.run("--wait", "5") == 0, self.crawl.said
        assert self.crawl.run("--refresh") == 0, self.crawl.said

    def _supervise(self) -> None:
        for n, pool in enumerate(self._pools):
            if pool is None or pool.poll() is not None:
                self._pools[n] = self._pool()
                self.tally.started += 1

    def _pool(self) -> subprocess.Popen[bytes]:
        parent = os.getpid()
        seeds = [sys.executable, "-m", "limpet", "enqueue", str(self.crawl.site), "--seeds"]
        if not self.tally.started:
            subprocess.run(seeds, check=True, capture_output=True)
        words = [sys.executable, "-m", "limpet", "consume", str(self.crawl.site), "--workers", str(WORKERS)]
        with self._talk.open("ab") as talk:
            return subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=talk, stderr=talk, start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),
            )  # fmt: skip

    def _watch(self, now: float) -> None:
        pages = self.outcomes()
        if pages > self._pages:
            self.tally.longest_pause = max(self.tally.longest_pause, now - self._since)
            self._pages, self._since = pages, now

    def _strike(self) -> None:
        names = list(self._ways)
        name = self._random.choices(names, [self._ways[each][0] for each in names])[0]
        before = self._in_flight()
        if self._ways[name][1]():
            self.tally.strikes[name] += 1
            self.tally.in_flight += max(before, self._in_flight())
        if self._random.random() < 0.5:
            self.shop.change_prices([self._random.randrange(self.shop.shop.products)])
            self.tally.price_changes += 1

    def _one(self, role: str) -> int | None:
        pids = [
            who.pid for who in living(self.crawl.home) if who.role == role and who.pid not in self._stopped
        ]
        return self._random.choice(pids) if pids else None

    def _kill(self, role: str) -> bool:
        pid = self._one(role)
        if pid is None:
            return False
        killing.kill([pid])
        return True

    def _stop(self, role: str) -> bool:
        """For up to twice a lease: half of them are stale when they go on."""
        pid = self._one(role)
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            self._stopped[pid] = time.monotonic() + self._random.uniform(0.1, 2 * LEASE)
        return True

    def _continue(self, at: float) -> None:
        for pid in [pid for pid, until in self._stopped.items() if until <= at]:
            del self._stopped[pid]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _kill_front(self) -> bool:
        alive = [pool for pool in self._pools if pool is not None]
        self._random.choice(alive).kill()
        return True

    def _kill_valkey(self) -> bool:
        pids = killing.valkey_pids(self.crawl.home)
        killing.kill(pids)
        return bool(pids)

    def _wipe(self) -> bool:
        try:
            with connect(f"unix://{socket_path(self.crawl.home)}", timeout=1.0) as client:
                return bool(client.flushall())
        except (RedisError, OSError):
            return False  # it is just being started

    def _kill_everything(self) -> bool:
        for pool in filter(None, self._pools):
            pool.kill()
            pool.wait()
        killing.kill_everything(self.crawl.home)
        self._stopped.clear()
        return True

    # -- what came of it

    def _in_flight(self) -> int:
        try:
            return self._window.in_flight()
        except LimpetError:
            return 0

    def outcomes(self) -> int:
        """Requests whose outcome is in the store."""
        store = self._window.store()
        if store is None:
            return 0
        marks = ", ".join(f"'{kind.value}'" for kind in Kind)
        return int(store.db.value(f"SELECT count(*) FROM outbox WHERE kind IN ({marks})"))

    def requests(self) -> int:
        """Requests that the shop has seen."""
        return len(self.shop.log())

    def violations(self) -> list[str]:
        """What is wrong with records, versions, messages and the number of requests; nothing, by the promise."""
        repeated = self.requests() - self.outcomes()
        found = (
            []
            if repeated <= self.tally.in_flight
            else [f"{repeated} repeats, {self.tally.in_flight} in flight"]
        )
        with self.crawl.store() as store:
            rows = checking.our_rows(store)
            found += checking.compare(rows, self.shop.expected())
            found += [
                f"{each.name}: {each.text}" for each in verify.verify(store, quiet=True) if each.ok is False
            ]
            found += [f"{n} pages {state}" for state, n in store.db.rows(summary.STATES) if state != "done"]
        most = 1 + self.tally.price_changes
        found += [f"{key}: {n} versions" for key, n in self.crawl.versions().items() if n > most]
        found += [f"message {key} is there {n} times" for key, n in self.crawl.messages().items() if n > 1]
        return found

    def line(self, seconds: float) -> str:
        """The figures."""
        tally, repeated = self.tally, self.requests() - self.outcomes()
        strikes = sum(tally.strikes.values())
        each = ", ".join(f"{n} {name}" for name, n in tally.strikes.most_common())
        return (
            f"{strikes} kills and stops in {seconds:.0f} s ({each}); {self.outcomes()} pages, "
            f"{repeated} requests repeated, "
            f"{repeated / max(1, strikes):.2f} a kill, {tally.in_flight} pages in flight at the kills; "
            f"{tally.started} pools started, {tally.price_changes} prices changed, "
            f"longest pause {tally.longest_pause:.1f} s"
        )


def survives(folder: Path, shop: ShopServer, seconds: float, seed: int) -> tuple[list[str], str]:
    """Attack a crawl for so long; the violations, and a line of figures."""
    with Chaos(folder, shop, seed) as chaos:
        chaos.run(seconds)
        eventually(lambda: chaos.outcomes() > shop.shop.pages, "too few pages were visited")
        chaos.settle()
        return chaos.violations(), chaos.line(seconds)
