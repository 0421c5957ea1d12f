"""The world of the crash tests: what is outside a process, and survives its kill -9.

A folder with the database's files, a Redis (fakeredis, whose state is in this process and so is copied by a fork),
a website that keeps its own log, and a clock that stands still unless somebody waits. A process is an `Engine`
whose connections are its own: a restart is a new one on the same world.
"""

from __future__ import annotations

import json
import random as real_random
import shutil
import tempfile
import time as real_time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import fakeredis
import fakeredis._helpers
import fakeredis._socket._base
import fakeredis.commands_mixins.scripting_mixin
import fakeredis.commands_mixins.server_mixin

import limpet.engine
import limpet_consumers.clock
import limpet_consumers.decide
import limpet_consumers.step
import limpet_consumers.turn
import limpet_store.store
from limpet import Site
from limpet.engine import Engine
from limpet_consumers.clock import FrontierClock
from limpet_consumers.http import FetchFailed, Http, Request, Response
from limpet_consumers.turn import Worker
from limpet_store import net, rounds
from limpet_store.admission import HostRules
from limpet_store.database import sqlite
from limpet_store.feeder import feed
from limpet_store.server import Server
from limpet_store.store import Store
from limpet_store.witness import Witness

HOME = "http://127.0.0.1:8000"
SHM = Path("/dev/shm")
FILES = ("db", "db-wal", "db.published")  # never -shm: its content dies with the last process that maps it
BEGIN = 1_800_000_000_000  # ms; far from today, so that a real clock that leaks in shows
MOST_TURNS = 400


# Made here, before anybody forks, so that it goes with this process whatever its children leave in it.
_ROOT = tempfile.TemporaryDirectory(prefix="limpet-crash-", dir=SHM if SHM.is_dir() else None)


def new_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=_ROOT.name))


class Broken(Exception):
    """An invariant that does not hold."""


class Clock:
    """One clock for Redis, workers and SQL, in milliseconds. `boot` is for workers, `skew` what Redis adds."""

    def __init__(self) -> None:
        self.ms = BEGIN
        self.skew = 0

    def boot(self) -> float:
        return self.ms / 1000

    def redis(self) -> float:
        return (self.ms + self.skew) / 1000

    def _sleep(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Everything below that asks for the time asks this clock; chance is taken out as well."""
        fake = SimpleNamespace(**{n: getattr(real_time, n) for n in dir(real_time) if not n.startswith("_")})
        fake.time, fake.time_ns = self.redis, lambda: (self.ms + self.skew) * 1_000_000
        even = SimpleNamespace(random=lambda: 0.5, Random=real_random.Random)
        with ExitStack() as stack:
            for module in (
                fakeredis._helpers,
                fakeredis._socket._base,
                fakeredis.commands_mixins.server_mixin,
                limpet_consumers.clock,
                limpet_store.store,
            ):
                stack.enter_context(mock.patch.object(module, "time", fake))
            waiting = SimpleNamespace(monotonic=self.boot, sleep=self._sleep)
            stack.enter_context(mock.patch.object(limpet.engine, "time", waiting))
            for module in (limpet_consumers.decide, limpet_consumers.step, limpet_consumers.turn):
                stack.enter_context(mock.patch.object(module, "random", even))
            yield


@dataclass
class Website:
    """Pages by path. `first` are answers given before the page's own, one a request. It counts what it is asked."""

    pages: dict[str, Any]  # a body, a status, a path to redirect to, or what makes one of these of the path
    first: dict[str, list[int]] = field(default_factory=dict)
    log: Counter[str] = field(default_factory=Counter)
    outage: bool = False
    memory: dict[str, Any] = field(default_factory=dict)  # what the site itself remembers
    body: Any = None  # that of the request, as JSON
    cookie: int = 0  # of who asks

    def answer(self, url: str, body: bytes | None = None) -> Response:
        self.body = json.loads(body) if body else None
        path = place(url)
        asked = self.log[path]
        self.log[path] += 1
        early = self.first.get(path, [])
        page = 500 if self.outage else early[asked] if asked < len(early) else self.pages.get(path, 404)
        if callable(page):
            page = page(self, url.removeprefix(HOME))
        if page == 0:
            raise FetchFailed("time-out")
        if isinstance(page, int):
            return Response(url, page, {}, b"")
        if page.startswith("/"):
            return Response(url, 302, {"location": page}, b"")
        return Response(url, 200, {"content-type": "text/html"}, page.encode())


def place(url: str) -> str:
    """The path, without what changes from time to time."""
    return url.removeprefix(HOME).partition("?")[0]


def _redis() -> Any:
    """One whose scripts cost a third less: fakeredis looks for stray globals at each call of theirs and collects
    all garbage after each. tests/store runs the same scripts with that."""
    server = fakeredis.FakeServer()
    fakeredis.FakeRedis(server=server).eval("return 1", 0)
    lua: Any = server
    lua._lua_runtime.execute("function collectgarbage() end")
    return server


fakeredis.commands_mixins.scripting_mixin._check_for_lua_globals = lambda *_: None


class World:
    """What survives. `allowed` counts, by path, the repeats that crashes and lost leases so far excuse."""

    def __init__(
        self, website: Website, site: Site, *, redis: Any = None, clock: Clock | None = None
    ) -> None:
        self.website = website
        self.site = site
        self.redis = redis or _redis()
        self.clock = clock or Clock()
        self.run_id = "twin"  # of the Redis server
        self.folder = new_folder()
        self.allowed: Counter[str] = Counter()
        self.broken: list[str] = []
        self.port_calls = 0
        self._reader: Any = None

    @property
    def db(self) -> Path:
        return self.folder / "db"

    def read(self, sql: str, *params: object) -> list[tuple[Any, ...]]:
        """A look at the database from outside; a store that is not there yet is empty."""
        if not self.db.exists():
            return []
        if self._reader is None:
            self._reader = sqlite.connect(
                str(self.db), isolation_level=None, timeout=30, check_same_thread=False
            )
        try:
            return self._reader.execute(sql, params).fetchall()  # type: ignore[no-any-return]
        except sqlite.OperationalError:
            return []

    def client(self) -> Any:
        return fakeredis.FakeRedis(server=self.redis, protocol=2)

    def fetch(self, request: Request, deadline: float) -> Response:
        """The HTTP port of every process. I-15: a page is attempted before it is requested."""
        self.port_calls += 1
        if not self.read(
            "SELECT 1 FROM pages WHERE canonical = ? AND open = 1 AND state = 'pending'", request.url
        ):
            self.broken.append(f"I-15 {request.url} is requested without an attempt")
        return self.website.answer(request.url, request.body)

    def excuse(self) -> None:
        """Whoever has a page in flight now may lose it: one more request of each is allowed."""
        for (url,) in self.read("SELECT canonical FROM pages WHERE open = 1"):
            self.allowed[place(url)] += 1

    def corpse(self) -> Path:
        """What is on disk now, as a kill -9 would leave it: taken at once, since the parent of a fork goes on."""
        folder = new_folder()
        for name in FILES:
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, folder / name)
        return folder

    def die(self, corpse: Path) -> None:
        """kill -9 of everything but Redis: only the corpse, and what the site and Redis remember, are left.

        Called in a forked child. What the dead process has open is its parent's, and is not touched.
        """
        self.move(corpse)
        self.excuse()

    def move(self, folder: Path) -> None:
        """Go on with other files, in a child of the process that has these open."""
        _GRAVE.append((self.folder, self._reader))
        self.folder, self._reader = folder, None

    def clean(self) -> None:
        """Remove the folder."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        shutil.rmtree(self.folder, ignore_errors=True)


_GRAVE: list[Any] = []  # connections of the dead: not closed, since their files are the parent's


class Process(Engine):
    """The real engine of a command on this world, with its own connections."""

    def __init__(self, world: World, token: str, *, alone: bool = True) -> None:
        self.world = world
        self.token = token
        self.alone = alone
        self.site = world.site
        self.settings = SimpleNamespace(home=world.folder, store_path=world.db, redis_url=None)  # type: ignore[assignment]
        self.rules = HostRules(
            delay=self.site.delay, max_in_flight=self.site.max_in_flight, robots=self.site.robots
        )
        self.totals = None
        self._presence = None
        self._left = ExitStack()

        # Opened here and not when first used: until Python 3.12 a cached_property holds a lock meanwhile, and the
        # thread in which a forked child goes on would wait for it for ever.
        self.store = Store.open(world.db, self.site.name)
        self._left.callback(self.store.close)
        self.witness = Witness(world.db)
        self._left.callback(self.witness.close)
        self.server = Server.from_client(world.client())
        self.server._run_id = world.run_id
        self._left.callback(self.server.close)

    def nobody_works(self) -> bool:
        return self.alone

    def _port(self) -> Any:
        return Sessions(self.world) if self.site.account else self.world

    def worker(self, http: Http | None = None) -> Worker:
        """A worker as a slice opens it."""
        return Worker(
            self.store, self.frontier, http or self._port(), self.site, token=self.token, witness=self.witness,
            clock=FrontierClock(self.world.clock.boot),
        )  # fmt: skip


class Sessions:
    """The HTTP port of one process on a site that wants a login: the session is lost with the process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.cookie = 0

    def fetch(self, request: Request, deadline: float) -> Response:
        self._world.website.cookie = self.cookie
        return self._world.fetch(request, deadline)

    def log_in(self, login: Callable[[Any], object], deadline: float) -> bool:
        return login(self) is not False

    def enter(self) -> None:
        """The site gives out a session; those it gave before stay."""
        memory = self._world.website.memory
        self.cookie = memory["sessions"] = memory.get("sessions", 0) + 1


def work(process: Process, worker: Worker, *, wait: bool = True, most: int = MOST_TURNS) -> None:
    """Turns as a slice takes them, until nothing is pending and the frontier is empty.

    Where a slice would sleep the clock moves on; `wait` False gives up there instead.
    """
    idle = 0
    for _ in range(most):
        if not worker.in_hand() and not rounds.pending(process.store) and not members(process):
            return
        if worker.turn() or worker.in_hand():
            idle = 0
            continue
        feed(worker.store, worker.frontier.fed(), worker.clock.now())
        if net.check(worker.store, worker.frontier, worker.clock.now(), worker.rebuild):
            process.world.broken.append("I-12 the net had to rebuild: a pending page was in no frontier")
        idle += 1
        if not wait and idle > 1:  # the first may have been a rebuild
            return
        if wait:
            _sleep(process.world.clock, worker, idle)
    raise Broken(f"I-12 the crawl does not end: {process.world.read(LEFT)}")


LEFT = "SELECT canonical, state, open, due_at, failures, lost FROM pages WHERE state = 'pending'"


def _sleep(clock: Clock, worker: Worker, idle: int) -> None:
    """Until the frontier has something; where it says nothing, longer and longer."""
    next_at = worker.progress.next_at
    ahead = 0 if next_at is None else next_at - clock.ms - clock.skew
    clock.ms += min(ahead, 3_600_000) if ahead > 0 else 5_000 << min(idle, 7)


def members(process: Process) -> list[bytes]:
    """Keys of the frontier that hold pages or leases."""
    prefix = process.frontier.prefix.encode()
    found = [key for key in keyspace(process.world) if key.startswith(prefix)]
    return [key for key in found if key[len(prefix) :].startswith((b":p:", b":l:", b":nonces"))]


def keyspace(world: World) -> Mapping[bytes, Any]:
    """All of Redis, as fakeredis keeps it."""
    return world.redis.dbs[0]  # type: ignore[no-any-return]


Act = Callable[[World, str], None]
