"""The demo from its first line to its verdict."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from limpet.demo import table
from limpet.demo.contest import SHORTEST, Place
from limpet.demo.contestants import CONTESTS, IN_FLIGHT
from limpet.demo.screen import Screen
from limpet.demo.shop import Shop, ShopServer
from limpet.demo.state import Leg, State
from limpet.exits import Exit
from limpet_store.errors import UsageError
from limpet_store.presence import try_lock

LATENCY = 0.015  # seconds that the shop holds back each answer, whoever asks
TITLES = {
    "naive": "the naive scraper, killed",
    "worker": "limpet, one worker process killed",
    "everything": "limpet, everything killed and started again",
}


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the user asked for; `seed` None draws one. Kills and pauses are those of the published test."""

    folder: Path
    runs: int = 1
    workers: int = 2
    seed: int | None = None
    kills: int = 10
    longest: float = 1.0  # seconds from the first request after a start to the kill


class Demo:
    """One demo, or the rest of one that was killed."""

    def __init__(self, wish: Wish, screen: Screen, shop: Shop | None = None) -> None:
        self.wish = wish
        self.folder = wish.folder
        self.screen = screen
        self.goods = shop or Shop()
        self._file = wish.folder / "run.json"
        self.state = self._open(wish)

    def run(self) -> Exit:
        """Run what is left of it; FAILED if one row is missing, doubled or wrong, or a request too many was made."""
        with self._alone():
            self._introduce()
            for leg in self.state.legs:
                if not leg.done:
                    self._run(leg)
        return self._report()

    # -- before

    def _open(self, wish: Wish) -> State:
        found = State.load(self._file)
        if found is not None and found.begun and not found.done:
            return found
        if found is None and wish.folder.exists() and any(wish.folder.iterdir()):
            raise UsageError(f"{wish.folder} holds something else: choose another folder with --folder")
        seed = random.randrange(10_000) if wish.seed is None else wish.seed
        return State(seed=seed, runs=wish.runs, workers=wish.workers)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.folder / "run.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(
                f"cannot write in {self.folder} ({error.strerror}): choose another folder with --folder"
            ) from error
        try:
            if not try_lock(lock):
                raise UsageError(f"a demo is running in {self.folder}: choose another folder with --folder")
            yield
        finally:
            os.close(lock)

    def _introduce(self) -> None:
        state, say = self.state, self.screen.say
        if state.begun:
            say(
                f"limpet demo, pid {os.getpid()}, seed {state.seed}, in {self.folder}: an earlier one did not end;"
                " it is finished now"
            )
            return
        for log in self.folder.glob("*.log"):
            log.unlink()
        say(
            f"limpet demo, pid {os.getpid()}, seed {state.seed}, in {self.folder}: {self.wish.kills} kills -9 each, "
            f"{SHORTEST} to {self.wish.longest:g} s after the first request that the site sees"
        )
        say(
            f"The shop has {self.goods.listings} listings and {self.goods.products} products: {self.goods.pages} "
            f"requests for all. It takes {LATENCY * 1000:.0f} ms for each answer, whoever asks, and limpet's "
            f"{state.workers} workers keep at most {IN_FLIGHT} requests in flight: else the kills would come too late."
        )

    # -- the legs

    def _run(self, leg: Leg) -> None:
        number = f"run {leg.run} of {self.state.runs}, " if self.state.runs > 1 else ""
        self.screen.say()
        self.screen.say(f"{number}{TITLES[leg.target]}", "bold")
        with self._shop(leg) as shop:
            contest = CONTESTS[leg.target](leg, self._place(shop))
            try:
                contest.run()
                leg.problems = contest.check()
                leg.done, leg.running = True, False
                self._save()
            finally:
                contest.stop()
                self.screen.close()
        self._conclude(leg)

    @contextmanager
    def _shop(self, leg: Leg) -> Iterator[ShopServer]:
        log = self.folder / f"site-{leg.run}-{leg.target}.log"
        with ExitStack() as stack:
            shop = self._open_shop(stack, ShopServer(self.goods, log_path=log, port=self.state.port))
            self.state.port = shop.port  # kept: a crawl that is taken up again knows its pages by their URLs
            shop.delay_answers(LATENCY)
            self._save()
            yield shop

    def _open_shop(self, stack: ExitStack, server: ShopServer) -> ShopServer:
        """Open it; the shop of a demo that was just killed takes a moment to leave the port."""
        deadline = time.monotonic() + 3
        while True:
            try:
                return stack.enter_context(server)
            except OSError as error:
                if time.monotonic() > deadline:
                    raise UsageError(f"{error}; remove {self.folder} to start over") from error
                time.sleep(0.05)

    def _place(self, shop: ShopServer) -> Place:
        state = self.state
        return Place(
            self.folder, shop, self.screen, self._save, str(state.seed), state.workers, self.wish.kills,
            self.wish.longest,
        )  # fmt: skip

    def _save(self) -> None:
        self.state.save(self._file)

    def _conclude(self, leg: Leg) -> None:
        if len(leg.kills) < self.wish.kills:
            self.screen.say(f"  finished after {len(leg.kills)} kills, before the next one came")
        self.screen.say(
            f"  done: {leg.rows} rows, {leg.requests} requests, {leg.repeated} of them repeated, {leg.seconds:.1f} s"
        )

    # -- after

    def _report(self) -> Exit:
        legs = self.state.legs
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=200)
        print(file=sys.stderr)
        table.show(legs, console, published=self.state.runs > 1)
        wrong = False
        for leg in legs:
            verdict = ", ".join(leg.problems) or self._all_right(leg)
            style = "green" if not leg.problems else "red" if leg.ours else ""
            console.print(f"run {leg.run}, {TITLES[leg.target]}: {verdict}", style=style, soft_wrap=True)
            wrong = wrong or (leg.ours and bool(leg.problems))
        self._invite()
        return Exit.FAILED if wrong else Exit.COMPLETE

    def _all_right(self, leg: Leg) -> str:
        return (
            f"every row once, all {4 * leg.rows:,} values as the site shows them"
            + f"; {leg.repeated} requests repeated, {leg.in_flight} pages in flight at the kills" * leg.ours
        )

    def _invite(self) -> None:
        self.screen.say()
        self.screen.say(
            f"Now you: run it again, `kill -9` it half-way (its pid is in its first line), and run it once more: it"
            f" finishes that run and checks it. The last crawl is in {self.folder}/.limpet, the site's logs beside it."
        )


def demo(wish: Wish, shop: Shop | None = None) -> Exit:
    """Run a demo; what it started has ended when this returns or raises."""
    screen = Screen()
    try:
        return Demo(wish, screen, shop).run()
    finally:
        screen.close()
