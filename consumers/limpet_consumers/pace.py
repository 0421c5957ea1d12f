"""How long hosts take to answer, as this worker has seen it: no host is asked faster than it answers."""

from __future__ import annotations

import threading
from collections import deque
from statistics import median

from limpet_store.attempts import PageRow

RECENT = 9  # answers of a host whose median counts
ENOUGH = 5
MARKEDLY, AT_LEAST = 0.25, 50  # a pace is news when it differs by more than both: a share of it, milliseconds
LONGEST = 60_000  # ms


class Paces:
    """The recent response times of the hosts with a delay. Used by all threads of a worker."""

    def __init__(self) -> None:
        self._recent: dict[int, deque[float]] = {}
        self._lock = threading.Lock()

    def add(self, host: int, seconds: float) -> None:
        """Note how long an answer took."""
        with self._lock:
            self._recent.setdefault(host, deque(maxlen=RECENT)).append(seconds)

    def news(self, page: PageRow) -> int | None:
        """The median of the page's host in ms, if it differs markedly from the one that the store knows and makes a
        difference to the host's delay; None otherwise."""
        with self._lock:
            recent = self._recent.get(page.host, ())
            if len(recent) < ENOUGH:
                return None
            pace = min(round(median(recent) * 1000), LONGEST)
        if max(pace, page.pace) < page.delay:  # something else asks for more
            return None
        changed = abs(pace - page.pace)
        return pace if changed > AT_LEAST and changed > MARKEDLY * page.pace else None
