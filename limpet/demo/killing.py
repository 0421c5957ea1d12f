"""SIGKILL, by process id: one worker process, or everything that works on a crawl. And what it hit."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from limpet_store import summary
from limpet_store.errors import FrontierError, StoreUnavailable, UsageError
from limpet_store.presence import WORKING, Living, living, try_lock
from limpet_store.store import Store
from limpet_store.valkey import Endpoint, server_pid, socket_path

PATIENCE = 10.0  # seconds in which the killed are gone, at the very latest
NAMES = {"front": "limpet crawl", "worker": "worker", "horse": "work-horse"}


class Window:
    """Looks into a crawl's store while it is worked on: `records` there are, pages `in_flight`.

    It is one more connection, opened when it is first used: close it where the store is to be left as the killed
    leave it.
    """

    def __init__(self, path: Path, crawl: str) -> None:
        self._path = path
        self._crawl = crawl
        self._store: Store | None = None

    def store(self) -> Store | None:
        """The store, None before it is made."""
        if self._store is None and self._path.exists():
            with suppress(StoreUnavailable):  # its file is there, and its tables are not yet
                self._store = Store.open(self._path, self._crawl, create=False)
        return self._store

    def records(self) -> int:
        store = self.store()
        return store.db.value("SELECT count(*) FROM records WHERE gone = 0") if store else 0

    def in_flight(self) -> int:
        store = self.store()
        return summary.in_flight(store) if store else 0

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


def kill(pids: Iterable[int]) -> None:
    """SIGKILL them all, one right after the other; those that are gone already are passed over."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def one_worker(home: Path, choice: random.Random) -> Living | None:
    """One of the worker processes of `home`, at random; None while none lives."""
    working = living(home, WORKING)
    return choice.choice(working) if working else None


def everything(home: Path) -> list[int]:
    """The pids of all that works on the crawls of `home`: the command first, or it would replace the others."""
    found = [who.pid for who in sorted(living(home), key=lambda who: who.role != "front")]
    return found + valkey_pids(home)


def valkey_pids(home: Path) -> list[int]:
    """The pid of the embedded server, if one answers."""
    if _is_free(home / "valkey.lock"):
        return []
    try:
        return [server_pid(Endpoint(f"unix://{socket_path(home)}"))]
    except (FrontierError, UsageError):
        return []


def nothing_lives(home: Path) -> bool:
    """Whether no process holds a lock in `home` any more, the server's included. The kernel frees them."""
    return not living(home) and _is_free(home / "valkey.lock")


def _is_free(lock: Path) -> bool:
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        return try_lock(fd)
    finally:
        os.close(fd)


def kill_everything(home: Path) -> list[int]:
    """Kill everything of `home`, and return the pids once all of it is gone."""
    killed: list[int] = []

    def again() -> bool:  # a process that was just being born is killed in the next round
        pids = [pid for pid in everything(home) if pid not in killed]
        kill(pids)
        killed.extend(pids)
        return nothing_lives(home)

    await_that(again, f"what was killed in {home} lives on")
    return killed


def await_that(what: Callable[[], bool], otherwise: str, patience: float = PATIENCE) -> None:
    """Return once `what()` holds. Raises TimeoutError, saying `otherwise`, after `patience` seconds."""
    deadline = time.monotonic() + patience
    while not what():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.002)
