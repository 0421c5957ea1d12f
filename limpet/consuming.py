"""`limpet consume`: a pool of workers on a crawl that others fill, and that others may work on too."""

from __future__ import annotations

import time

from limpet.crawling import Crawl, Wish
from limpet.engine import Engine
from limpet.exits import say
from limpet_store import pausing, rounds

LOOK_EVERY = 1.0  # seconds between two looks at what may be due again by itself, or paused


class Consume(Crawl):
    """One run of the consume command. It adds no seeds and starts no rounds; it finishes the round it finds."""

    again = "consume"

    def __init__(self, engine: Engine, *, until_done: bool, drain: bool = False) -> None:
        super().__init__(engine, Wish(drain=drain))
        self._until_done = until_done
        self._look_at = 0.0
        self._paused = False

    def _prepare(self) -> bool:
        if self.engine.ignores_robots:
            self._follow()
        self._lift()
        self._say_changed_code()
        self._take_periods()
        return True

    def _ended(self) -> bool:
        if self._stopping:
            return True
        self._now_and_then()
        return not rounds.pending(self.store) and self._round_is_over() and self._until_done

    def _now_and_then(self) -> None:
        """Once a second, let pages that are due again by themselves go, and say what somebody has paused."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_EVERY
        self._let_refresh()
        if self._paused != pausing.is_paused(self.store):
            self._paused = not self._paused
            resume = f"`limpet resume {self.engine.site_file}` goes on"
            say(f"the crawl is paused: no page is begun, {resume}" if self._paused else "the crawl goes on")

    def _round_is_over(self) -> bool:
        """Finish the round if it is open; asked several times a second, so it writes only then."""
        current = rounds.last(self.store)
        if current is None or current.finished_at is not None:
            return True
        return current.refreshed_to is None and self._finish()
