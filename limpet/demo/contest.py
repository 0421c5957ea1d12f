"""One scraper under ten kills: started, killed, started again, and at last let finish."""

from __future__ import annotations

import os
import random
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from limpet.demo import checking
from limpet.demo.screen import Screen
from limpet.demo.shop import ShopServer
from limpet.demo.state import Kill, Leg
from limpet_consumers.process import die_with_parent
from limpet_store.errors import LimpetError

SHORTEST = 0.2  # seconds from the first request after a start to the kill, at least
SOFTLY = 8.0  # seconds in which a scraper that is asked to stop has stopped
POLL = 0.005


@dataclass(frozen=True)
class Place:
    """Where a scraper works; `save` writes down what its leg says now."""

    folder: Path
    shop: ShopServer
    screen: Screen
    save: Callable[[], None]
    seed: str
    workers: int
    kills: int
    longest: float  # seconds to a kill


class Contest(ABC):
    """A leg of the demo. Call `run`, then `check`; `stop` ends what runs, softly."""

    def __init__(self, leg: Leg, place: Place) -> None:
        self.leg = leg
        self.place = place
        self.process: subprocess.Popen[bytes] | None = None
        # The same pauses for all scrapers of a run.
        draw = random.Random(f"{place.seed}/{leg.run}")
        self._pauses = [draw.uniform(SHORTEST, place.longest) for _ in range(place.kills)]
        self._log = place.folder / f"{leg.run}-{leg.target}.log"
        self._mark = 0.0

    @abstractmethod
    def command(self) -> list[str]:
        """What starts the scraper, or lets it go on."""

    @abstractmethod
    def prepare(self) -> None:
        """Make the place as it is before the first start."""

    @abstractmethod
    def strike(self) -> Kill | None:
        """Kill; None when there was nothing to be killed yet."""

    @abstractmethod
    def rows(self) -> int:
        """How many rows it has stored."""

    @abstractmethod
    def check(self) -> list[str]:
        """Judge what it left in the end; returns what is wrong, in phrases."""

    def killed_outside(self) -> Kill | None:
        """What a kill that was not ours hit; None when nothing of it is known."""
        return None

    def run(self) -> None:
        """Kill it as often as is wanted, less those that it has behind it, and let it finish."""
        self._mark = time.monotonic()
        if self.leg.running:
            self._note_outside()
        elif not self.leg.kills and not self.leg.seconds:
            self.prepare()
        self.leg.running = True
        while self._one_life():
            pass
        self._save()

    def _one_life(self) -> bool:
        """From a start, or from the last kill, to the next; False when it has finished."""
        mark = self.place.shop.mark()
        if self.process is None:
            self._start()
        if len(self.leg.kills) >= self.place.kills:
            self._ended_by(lambda: False)
            return self.process is None
        pause = self._pauses[len(self.leg.kills)]
        if self._ended_by(lambda: bool(self.place.shop.requests_since(mark))):
            return self.process is None
        struck_at = self.place.shop.requests_since(mark)[0].at + pause
        if self._ended_by(lambda: time.monotonic() >= struck_at):
            return self.process is None
        hit = self.strike()
        if hit is not None:
            self._note(hit)
        return True

    def _start(self) -> None:
        parent = os.getpid()
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")},
                start_new_session=True,  # Ctrl-C is for the demo, which then stops it softly
                preexec_fn=lambda: die_with_parent(parent),  # the shop dies with the demo too
            )

    def _ended_by(self, enough: Callable[[], bool]) -> bool:
        """Watch until `enough()`, False then; True when the scraper ended first, by itself or by another's kill."""
        assert self.process is not None
        while not enough():
            if (code := self.process.poll()) is not None:
                self._ended(code)
                return True
            if self.place.screen.is_time():
                self._show()
            time.sleep(POLL)
        return False

    def _ended(self, code: int) -> None:
        if code == 0:
            return
        self.process = None
        if code != -9:
            raise LimpetError(
                f"the scraper ended with exit code {code}; the end of {self._log}:\n{self._tail()}"
            )
        self._note_outside()

    def _note_outside(self) -> None:
        hit = self.killed_outside()
        if hit is not None:
            self._note(hit)

    def _note(self, hit: Kill) -> None:
        self.leg.kills.append(hit)
        self._save()
        pids = ", ".join(map(str, hit.pids)) or "?"
        flight = f"; {hit.in_flight} pages in flight" if self.leg.ours else ""
        self.place.screen.say(
            f"  kill -9  {len(self.leg.kills):2}: {hit.what} (pid {pids}) at {hit.rows} rows{flight}", "red"
        )

    def _show(self) -> None:
        rows, shop = self.rows(), self.place.shop
        seen = checking.traffic(shop.log())
        self.place.screen.count(rows, shop.shop.products, f"{rows} rows, {seen.requests} requests")

    def _save(self) -> None:
        now = time.monotonic()
        self.leg.seconds += now - self._mark
        self._mark = now
        self.place.save()

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-10:])

    def stop(self) -> None:
        """End what runs, softly where that is possible; nothing is left behind."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(SOFTLY)
                self.leg.running = False
                self._save()
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
