"""Clocks: the worker's own, and what the frontier's shows now."""

from __future__ import annotations

import time
from collections.abc import Callable

# Counts through suspension, so that a lease slept through is seen as lapsed; elsewhere monotonic is the nearest.
BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_seconds() -> float:
    """Seconds of the machine's boot clock."""
    return time.clock_gettime(BOOT)


class FrontierClock:
    """The frontier's time in ms between its replies: the last one told, plus what has passed here."""

    def __init__(self, boot: Callable[[], float] = boot_seconds) -> None:
        self.boot = boot
        self._offset = time.time() * 1000 - boot() * 1000

    def told(self, now: int) -> None:
        """A reply carried the frontier's time."""
        self._offset = now - self.boot() * 1000

    def now(self) -> int:
        return round(self.boot() * 1000 + self._offset)
