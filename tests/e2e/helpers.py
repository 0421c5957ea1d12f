"""A crawl as its user runs it: a site file, the command in a process of its own, and what it leaves behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limpet.demo import checking, killing
from limpet.demo.shop import ShopServer
from limpet_consumers.process import die_with_parent
from limpet_store import ops, summary
from limpet_store.errors import StoreUnavailable
from limpet_store.presence import living
from limpet_store.store import Store
from limpet_store.valkey import stop_server

# Longer than anything here takes, shorter than the leases that must not be waited for.
PATIENCE = 120.0  # seconds


def eventually(what: Callable[[], Any], otherwise: str = "it never came", seconds: float = PATIENCE) -> Any:
    """Poll until `what()` is true, and return that; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.005)
    return found


class Crawl:
    """One site file and its state. Use it in a `with` block: nothing of it lives on afterwards."""

    def __init__(
        self,
        folder: Path,
        text: str,
        *,
        name: str = "demo-shop",
        workers: int = 2,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.site = folder / "shop.py"
        self.home = folder / ".limpet"
        self.name = name
        self.workers = workers
        self.in_flight = 0  # pages that kills found in flight, summed
        self.process: subprocess.Popen[bytes] | None = None
        # What this shell has set up for other crawls is not for this one.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("LIMPET_")}
        self._environment = inherited | dict(environment or {})
        self._talk = folder / "talk"
        folder.mkdir(parents=True, exist_ok=True)
        self.site.write_text(text)

    def __enter__(self) -> Crawl:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.home.exists():
            killing.kill(who.pid for who in living(self.home))
            stop_server(self.home)

    # -- the command

    def start(self, *options: str, command: str = "crawl") -> subprocess.Popen[bytes]:
        """`limpet crawl`, or another command with workers, in a session of its own."""
        parent = os.getpid()
        words = [sys.executable, "-m", "limpet", command, str(self.site), "--workers", str(self.workers)]
        with self._talk.open("wb") as talk:
            self.process = subprocess.Popen(
                [*words, *options],
                stdin=subprocess.DEVNULL,
                stdout=talk,
                stderr=talk,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),
                env=self._environment,
            )
        return self.process

    def finish(self) -> int:
        """Wait for the command that was started; its exit code."""
        assert self.process is not None
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end; it said:\n{self.said}") from None

    def run(self, *options: str) -> int:
        """Start it and wait for its end."""
        self.start(*options)
        return self.finish()

    @property
    def said(self) -> str:
        """What the last command has said."""
        return self._talk.read_text(errors="replace")

    # -- what it left

    @contextmanager
    def store(self) -> Iterator[Store]:
        store = Store.open(self.home / f"{self.name}.db", self.name, create=False)
        try:
            yield store
        finally:
            store.close()

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of the store."""
        with self.store() as store:
            return store.db.rows(sql)

    def has(self, sql: str) -> bool:
        """Whether the store is there and the statement finds anything."""
        try:
            return bool(self.ask(sql))
        except StoreUnavailable:  # not there, or just being made
            return False

    def versions(self) -> dict[str, int]:
        return dict(self.ask("SELECT key, version FROM records WHERE gone = 0"))

    def messages(self) -> Counter[str]:
        """Idempotency keys in the outbox, with how often each is there."""
        with self.store() as store:
            lines = [line for (text,) in store.db.rows(checking.MESSAGES) for line in text.splitlines()]
        return Counter(json.loads(line)["id"] for line in lines)

    def put_back(self) -> int:
        """Pages that were in hand at a clean stop: their requests may be repeated too."""
        rows = self.ask("SELECT ops FROM outbox WHERE kind = 'put back'")
        return sum(op[0] == "p" for (text,) in rows for op in ops.split(json.loads(text)))

    # -- harm

    def kill_everything(self) -> None:
        """Command, workers, work-horses and Valkey, at any moment of theirs; notes what was in flight."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        if self.home.exists():
            killing.kill_everything(self.home)
        self.note_in_flight()

    def kill_one_worker(self, choice: random.Random) -> None:
        """One worker or work-horse; notes what was in flight."""
        with self.store() as store:
            chosen = eventually(lambda: killing.one_worker(self.home, choice))
            os.kill(chosen.pid, signal.SIGKILL)
            self.in_flight += summary.in_flight(store)

    def note_in_flight(self) -> None:
        if self.has("SELECT 1 FROM sqlite_master WHERE name = 'pages'"):
            with self.store() as store:
                self.in_flight += summary.in_flight(store)

    def problems(self, shop: ShopServer) -> list[str]:
        """What is wrong with the records, their messages, and the requests that the shop saw."""
        with self.store() as store:
            rows = checking.our_rows(store)
            return [
                *checking.compare(rows, shop.expected()),
                *checking.message_problems(store, len(rows)),
                *checking.request_problems(checking.traffic(shop.log()), shop.shop.pages, self.in_flight),
                *(f"{n} pages {state}" for state, n in store.db.rows(summary.STATES) if state != "done"),
            ]


def wait_for_requests(shop: ShopServer, count: int, mark: int) -> None:
    """Until the shop has seen so many requests since `mark`."""
    eventually(lambda: len(shop.requests_since(mark)) >= count, f"{count} requests never came")
