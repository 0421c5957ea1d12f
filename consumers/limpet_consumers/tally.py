"""What a work-horse counts, and how that reaches the process that shows it.

A work-horse lives for half a minute, so it keeps no counters of its own: once a second, and in the end, it writes what
has been added since into the pipe that its supervisor reads anyway. A kill -9 loses what was not written yet.
"""

from __future__ import annotations

import json
import os
import select
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

MARK = "\x1e"  # begins a report; what prints pages may print it too, so the worker's name, drawn at random, follows
BUCKETS: Mapping[str, tuple[float, ...]] = {  # upper bounds; the last bucket has none
    "fetch_seconds": (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
    "commit_seconds": (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30),
    "group_pages": (1, 2, 4, 8, 16, 32, 64),
}
EVERY = 1.0  # seconds between two reports
SUM = "sum"  # the label of a histogram's sum; its buckets have their number
Key = tuple[str, ...]  # name, labels


def mark_of(worker: str) -> str:
    """What a report of this worker's begins with."""
    return f"{MARK}{worker} "


def to_supervisor(line: bytes) -> bool:
    """Write to stderr, whole and between the lines of others; False when there is no room now: a supervisor that is
    stopped must not stop its workers."""
    try:
        return bool(select.select([], [2], [], 0)[1]) and os.write(2, line) > 0
    except OSError:
        return True  # nobody reads any more


class Tally:
    """What was counted since the last report. Any thread may add; one sends."""

    def __init__(self, worker: str, write: Callable[[bytes], bool] = to_supervisor) -> None:
        self._mark = mark_of(worker)
        self._write = write
        self._counts: dict[Key, float] = {}
        self._lock = threading.Lock()

    def add(self, name: str, *labels: str, by: float = 1) -> None:
        """Count."""
        key = (name, *labels)
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + by

    def observe(self, name: str, value: float) -> None:
        """Count a value in its bucket."""
        self.add(name, str(bisect_left(BUCKETS[name], value)))
        self.add(name, SUM, by=value)

    def send(self) -> None:
        """Write what is there; what finds no room is kept for the next time."""
        with self._lock:
            counts, self._counts = self._counts, {}
        for line, keys in self._lines(counts):
            if not self._write(line):
                for key in keys:
                    self.add(*key, by=counts[key])

    def _lines(self, counts: Mapping[Key, float]) -> Iterator[tuple[bytes, list[Key]]]:
        """As few lines as may be, each short enough to be written in one piece."""
        room = select.PIPE_BUF - len(self._mark) - len("[]\n")
        parts: list[str] = []
        keys: list[Key] = []
        size = 0
        for key, value in counts.items():
            part = json.dumps([*key, round(value, 6)])
            size += len(part) + 1
            if parts and size > room:
                yield self._line(parts), keys
                parts, keys, size = [], [], len(part) + 1
            parts.append(part)
            keys.append(key)
        if parts:
            yield self._line(parts), keys

    def _line(self, parts: list[str]) -> bytes:
        return f"{self._mark}[{','.join(parts)}]\n".encode()


@contextmanager
def sending(tally: Tally) -> Iterator[None]:
    """Send once a second, from a thread of its own: a turn may wait for a slow site; and in the end."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(EVERY):
            tally.send()

    thread = threading.Thread(target=run, name="limpet-tally", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(EVERY)
        tally.send()


def reported(payload: str) -> dict[Key, float]:
    """What a report says. Raises ValueError for what is none."""
    found: dict[Key, float] = {}
    items = json.loads(payload)
    if not isinstance(items, list) or not all(isinstance(item, list) for item in items):
        raise ValueError("not a list of counts")
    for item in items:
        *key, value = item
        if not key or not all(isinstance(part, str) for part in key) or not isinstance(value, int | float):
            raise ValueError("not a count")
        found[tuple(key)] = found.get(tuple(key), 0) + value
    return found
