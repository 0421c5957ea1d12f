"""Stopping is a flag, not an exception: a slice looks at it before each lease and ends by itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

DRAIN = signal.SIGUSR1  # "finish what you have leased and take nothing more"
STOP_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, DRAIN})


class StopFlag:
    """Set by a signal, or by hand; never cleared."""

    def __init__(self) -> None:
        self._set = False

    def __bool__(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def handle(self, signum: int, frame: FrameType | None) -> None:
        """A signal handler that sets the flag."""
        self._set = True


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back what asks to stop; what arrived meanwhile is delivered at the end.

    A child forked inside inherits the hold: it calls `let_through` once its own handlers are in place.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_through() -> None:
    """Deliver what asks to stop from now on."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
