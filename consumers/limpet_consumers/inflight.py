"""What is in flight in one worker: one page after another, or several in threads.

Without latency one thread is fastest (the interpreter lock); with it, threads overlap the waiting. Which it is
gets measured: the number in flight follows the share of time that requests wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from limpet_store.attempts import Attempt
from limpet_store.outcome import Outcome

MOST_THREADS = 64
PATIENCE = 0.5  # seconds
WORTH_THREADS = 0.004  # seconds of waiting a request above which overlapping pays
COMPUTE = 0.0015  # seconds a page costs besides waiting


class InFlight(Protocol):
    """Runs attempts; `collect` returns what has finished, at least one if anything is in flight."""

    def free(self) -> int:
        """How many requests could begin at once now."""

    def __len__(self) -> int: ...
    def start(self, attempts: Sequence[Attempt]) -> None: ...
    def collect(self) -> list[Outcome]: ...
    def abandon(self) -> list[Attempt]:
        """Give up what has not finished; its requests may still be out."""

    def close(self) -> None: ...


class Inline:
    """In the worker's own thread, in order; a stop takes effect between two pages.

    It hands back what it has after `PATIENCE` seconds, so that slow pages are committed one by one.
    """

    def __init__(self, run: Callable[[Attempt], Outcome], stopping: Callable[[], bool]) -> None:
        self._run = run
        self._stopping = stopping
        self._waiting: list[Attempt] = []

    def free(self) -> int:
        return 0 if self._waiting else 1

    def __len__(self) -> int:
        return len(self._waiting)

    def start(self, attempts: Sequence[Attempt]) -> None:
        self._waiting += attempts

    def collect(self) -> list[Outcome]:
        finished: list[Outcome] = []
        until = time.monotonic() + PATIENCE
        while self._waiting and not self._stopping() and not (finished and time.monotonic() > until):
            finished.append(self._run(self._waiting.pop(0)))
        return finished

    def abandon(self) -> list[Attempt]:
        abandoned, self._waiting = self._waiting, []
        return abandoned

    def close(self) -> None:
        self._waiting.clear()


class Threaded:
    """In up to `threads` threads, a number that may change as it goes. An exception that is no outcome comes out of
    `collect`."""

    def __init__(self, run: Callable[[Attempt], Outcome], threads: int) -> None:
        self._run = run
        self.threads = threads
        self._pool = ThreadPoolExecutor(
            MOST_THREADS, thread_name_prefix="limpet-fetch"
        )  # made as they are needed
        self._futures: dict[Future[Outcome], Attempt] = {}

    def free(self) -> int:
        return max(0, self.threads - len(self._futures))

    def __len__(self) -> int:
        return len(self._futures)

    def start(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            self._futures[self._pool.submit(self._run, attempt)] = attempt

    def collect(self, patience: float = 0.05) -> list[Outcome]:
        """Waits for the first to finish, not longer than `patience` seconds: new work may be due meanwhile."""
        if not self._futures:
            return []
        done, _ = wait(self._futures, timeout=patience, return_when=FIRST_COMPLETED)
        for future in done:
            del self._futures[future]
        return [future.result() for future in done]

    def abandon(self) -> list[Attempt]:
        done = {future: attempt for future, attempt in self._futures.items() if future.done()}
        abandoned = [attempt for future, attempt in self._futures.items() if future not in done]
        self._futures = done
        return abandoned

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def wanted_threads(wait_per_request: float) -> int:
    """How many requests to overlap when each waits so many seconds: 1 where waiting is not worth threads."""
    if wait_per_request < WORTH_THREADS:
        return 1
    return max(2, min(MOST_THREADS, round(wait_per_request / COMPUTE / 4)))
