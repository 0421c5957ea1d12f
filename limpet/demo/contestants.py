"""The three contestants: the naive scraper, and limpet under two kinds of kills."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from limpet.demo import checking
from limpet.demo.contest import Contest, Place
from limpet.demo.killing import NAMES, Window, await_that, kill, kill_everything, nothing_lives, one_worker
from limpet.demo.site_template import site_file
from limpet.demo.state import Kill, Leg
from limpet_store.valkey import stop_server

CRAWL = "demo-shop"
IN_FLIGHT = 2  # requests at a time that the demo's site file allows


class Naive(Contest):
    """The scraper that remembers nothing."""

    @property
    def database(self) -> Path:
        return self.place.folder / "naive.db"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "limpet.demo.naive", self.place.shop.first_page, str(self.database)]

    def prepare(self) -> None:
        self.database.unlink(missing_ok=True)

    def rows(self) -> int:
        return checking.count_naive(self.database)

    def strike(self) -> Kill:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        pid, self.process = self.process.pid, None
        return Kill("the naive scraper", [pid], self.rows(), 0)

    def check(self) -> list[str]:
        leg, rows = self.leg, checking.naive_rows(self.database)
        leg.rows = len(rows)
        seen = checking.traffic(self.place.shop.log())
        leg.requests, leg.repeated = seen.requests, seen.repeated
        return checking.compare(rows, self.place.shop.expected())


class Ours(Contest):
    """`limpet crawl`. It goes on where it was, so the same command starts it and starts it again."""

    def __init__(self, leg: Leg, place: Place) -> None:
        super().__init__(leg, place)
        self.site = place.folder / "shop.py"
        self.home = place.folder / ".limpet"
        self.window = Window(self.home / f"{CRAWL}.db", CRAWL)

    def command(self) -> list[str]:
        crawl = [sys.executable, "-m", "limpet", "crawl", str(self.site), "--home", str(self.home)]
        return [*crawl, "--workers", str(self.place.workers)]

    def prepare(self) -> None:
        if self.home.exists():
            stop_server(self.home)
            shutil.rmtree(self.home)
        self.site.write_text(site_file(self.place.shop.first_page, max_in_flight=IN_FLIGHT))

    def rows(self) -> int:
        return self.window.records()

    def killed_outside(self) -> Kill | None:
        """Somebody killed the command, or the demo: its workers die with it."""
        await_that(self._workers_are_gone, "the workers of a killed crawl live on")
        hit = Kill("the crawl, by somebody else", [], self.rows(), self.window.in_flight())
        self.window.close()
        return hit

    def _workers_are_gone(self) -> bool:
        while (who := one_worker(self.home, random.Random())) is not None:
            kill([who.pid])  # where the kernel does not see to it
            return False
        return True

    def check(self) -> list[str]:
        leg, shop = self.leg, self.place.shop
        store = self.window.store()
        if store is None:
            return ["there is no store"]
        rows = checking.our_rows(store)
        seen = checking.traffic(shop.log())
        leg.rows, leg.requests, leg.repeated = len(rows), seen.requests, seen.repeated
        return [
            *checking.compare(rows, shop.expected()),
            *checking.message_problems(store, len(rows)),
            *checking.request_problems(seen, shop.shop.pages, leg.in_flight),
        ]

    def stop(self) -> None:
        super().stop()
        self.window.close()
        if self.home.exists():
            stop_server(self.home)


class OneWorker(Ours):
    """Killed is one worker process at random; the command lives and replaces it."""

    def strike(self) -> Kill | None:
        choice = random.Random(f"{self.place.seed}/{self.leg.run}/{len(self.leg.kills)}")
        chosen = one_worker(self.home, choice)
        if chosen is None:
            return None
        rows = self.rows()  # before the kill, so that nothing stands between it and the look at what it hit
        kill([chosen.pid])
        return Kill(f"one {NAMES[chosen.role]}", [chosen.pid], rows, self.window.in_flight())


class Everything(Ours):
    """Killed are the command, its workers, their work-horses and Valkey; then it is started again."""

    def strike(self) -> Kill:
        assert self.process is not None
        self.window.close()
        pids = kill_everything(self.home)
        self.process.wait()
        self.process = None
        assert nothing_lives(self.home)
        hit = Kill("everything", pids, self.rows(), self.window.in_flight())
        self.window.close()
        return hit


CONTESTS: dict[str, type[Contest]] = {"naive": Naive, "worker": OneWorker, "everything": Everything}
