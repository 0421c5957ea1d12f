"""SIGINT, SIGTERM and SIGHUP as a wish to stop, and the end of a stop that takes too long."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType
from typing import Self

from limpet.exits import Exit, say

CODES = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.TERMINATED,  # the terminal was closed
}
LAST_RESORT = 4.6  # seconds from a wish to stop to the end of the process, whatever it waits for
TOO_LONG = "the stop took too long: what is still in hand is as after a kill"


def wished() -> list[signal.Signals]:
    """The signals that are a wish to stop: all of CODES, without SIGHUP under nohup."""
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in CODES if not (nohup and number == signal.SIGHUP)]


class Stopping:
    """While it is entered, the first signal is a wish to stop, the next one ends the process at once, as kill -9 would.
    With `drain` there is one before them: the wish to end when what is in hand is finished.

    A stop that is not over after LAST_RESORT seconds ends the process too, with the code that it would have had: it
    waits for a lock or a server, and what it could not put back is as after a kill.
    """

    def __init__(self, *, drain: bool = False) -> None:
        self._drains = drain
        self._number: int | None = None
        self._before: dict[int, object] = {}
        self._hurry = False
        self._alarm: int | None = None  # where the watch is told of a stop

    def __bool__(self) -> bool:
        """Whether to end, in whatever way."""
        return self._number is not None

    @property
    def hurry(self) -> bool:
        """Whether to end now, with what is in hand put back."""
        return self._hurry

    @property
    def code(self) -> Exit:
        """The exit code of a command that was stopped."""
        assert self._number is not None
        return CODES[signal.Signals(self._number)]

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self._hurry:
            os._exit(128 + number)  # child processes watch their parent and go with it
        self._hurry = self._number is not None or not self._drains
        self._number = number
        if self._hurry and self._alarm is not None:
            os.write(self._alarm, b"!")

    def _watch(self, told: int) -> None:
        """In a thread: signal handlers wait while the main thread waits in C, for a lock of the database above all."""
        stops = os.read(told, 1)
        os.close(told)
        if stops:
            time.sleep(LAST_RESORT)
            threading.Thread(target=say, args=(TOO_LONG, "warning"), daemon=True).start()
            time.sleep(0.1)  # not longer: it may be stderr that nobody reads
            os._exit(self.code)

    def __enter__(self) -> Self:
        told, self._alarm = os.pipe()
        threading.Thread(target=self._watch, args=(told,), name="limpet-last-resort", daemon=True).start()
        for number in wished():
            self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if not self._hurry and self._alarm is not None:
            os.close(self._alarm)  # nobody stops any more; else the watch goes on to the process's end
