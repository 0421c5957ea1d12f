"""SIGINT, SIGTERM and SIGHUP as a wish to stop."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Self

from limpet.exits import Exit

CODES = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.TERMINATED,  # the terminal was closed
}


def wished() -> list[signal.Signals]:
    """The signals that are a wish to stop: all of CODES, without SIGHUP under nohup."""
    nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in CODES if not (nohup and number == signal.SIGHUP)]


class Stopping:
    """While it is entered, the first signal is only noted; the second ends the process at once, as kill -9 would."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._before: dict[int, object] = {}

    def __bool__(self) -> bool:
        """Whether to stop."""
        return self._number is not None

    @property
    def code(self) -> Exit:
        """The exit code of a command that was stopped."""
        assert self._number is not None
        return CODES[signal.Signals(self._number)]

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        if self._number is not None:
            os._exit(128 + number)  # child processes watch their parent and go with it
        self._number = number

    def __enter__(self) -> Self:
        for number in wished():
            self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
