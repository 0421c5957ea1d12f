"""One command's hold on a crawl: its settings, site, server, store and frontier, opened and left in order."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from redis import Redis
from redis.exceptions import RedisError

from limpet import home as homes
from limpet import logs, settings
from limpet.load import load_site
from limpet.site import Site
from limpet_consumers.tickets import Tickets
from limpet_store.admission import HostRules
from limpet_store.complaints import complaint
from limpet_store.errors import FrontierUnavailable, StoreUnavailable, UsageError
from limpet_store.frontier import REBUILD_TTL, CursorMissing, Frontier
from limpet_store.presence import Presence, Recovery, anyone_working, bereft, bury
from limpet_store.rebuild import Rebuilt, rebuild
from limpet_store.relay import Relay
from limpet_store.server import Server, ServerFacts, check_server, connect
from limpet_store.store import Store, StoreReborn
from limpet_store.valkey import ServerUser, ensure_server
from limpet_store.witness import Witness

if TYPE_CHECKING:
    from limpet.metrics import Totals

log = logging.getLogger("limpet")

PATIENT, IMPATIENT = 5.0, 0.5  # seconds to wait for an answer of Redis


class Engine:
    """A crawl as a command uses it. Close it (or use `with`) to leave cleanly.

    What a command does not touch is not opened: the store and the server come up when they are first used.
    """

    def __init__(self, site_file: Path, flags: Mapping[str, Any] | None = None) -> None:
        self.site_file = site_file
        self.flags = dict(flags or {})
        self.site: Site = load_site(site_file)
        self.settings = settings.load(self.site.name, site_file, flags=flags)
        if self.settings.contact:
            self.site.reach(self.settings.contact)
        if self.ignores_robots:
            if self.site.sitemaps is True:
                raise UsageError("--ignore-robots: sitemaps=True asks robots.txt for them; name the sitemaps")
            self.site.robots = False
        bundle = self.settings.ca_bundle
        self.site.go_through(self.settings.proxy, str(bundle) if bundle else None)
        self.rules = HostRules(
            delay=self.site.delay, max_in_flight=self.site.max_in_flight, robots=self.site.robots,
            max_pages=self.site.max_pages,
        )  # fmt: skip
        logs.about(crawl=self.site.name)
        self.totals: Totals | None = None  # where metrics are shown
        self._redis_timeout = PATIENT
        self._presence: Presence | None = None
        self._left = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave: connections first, the embedded server last, if nobody else uses it."""
        self._left.close()

    @property
    def ignores_robots(self) -> bool:
        """Whether this command was told to, whatever the site file says."""
        return bool(self.flags.get("ignore_robots"))

    # -- the store

    def has_store(self) -> bool:
        """Whether this crawl was ever begun."""
        return self.settings.store_path.exists()

    @cached_property
    def store(self) -> Store:
        """The crawl's store, made if it is missing."""
        homes.prepare(self.settings.home, self.settings.store_path)
        return self._open(create=True)

    def _open(self, *, create: bool) -> Store:
        if "store" not in self.__dict__:
            self.store = Store.open(self.settings.store_path, self.site.name, create=create)
            self._left.callback(self.store.close)
        return self.store

    def existing_store(self) -> Store:
        """The crawl's store. Raises UsageError when there is none yet."""
        if not self.has_store():
            raise UsageError(f"{self.site.name} was never crawled: run `limpet crawl {self.site_file}` first")
        return self._open(create=False)

    @property
    def place(self) -> str:
        """Where the state is, for people."""
        chosen = self.settings
        elsewhere = chosen.store_path.parent != chosen.home
        return f"{chosen.home}" + (f", store {chosen.store_path}" if elsewhere else "")

    @cached_property
    def witness(self) -> Witness:
        witness = Witness(self.settings.store_path)
        self._left.callback(witness.close)
        return witness

    # -- Redis

    @property
    def embedded(self) -> bool:
        return self.settings.redis_url is None

    @cached_property
    def server_url(self) -> str:
        """The server's URL; the embedded one is found or started first."""
        if self.settings.redis_url is not None:
            return self.settings.redis_url
        homes.prepare(self.settings.home, self.settings.store_path)
        user = ServerUser(self.settings.home)
        self._left.callback(user.leave)
        return ensure_server(self.settings.home).url

    def revive_server(self) -> bool:
        """Start the embedded server again if it has died; whether that was done. A server elsewhere is somebody else's
        care."""
        return self.embedded and ensure_server(self.settings.home, timeout=1.0).started

    @cached_property
    def facts(self) -> ServerFacts:
        """What the server is. Raises ServerRefused for one that must not be used."""
        return check_server(self.client)

    @cached_property
    def client(self) -> Redis:
        """A plain client, for RQ's queue."""
        client = connect(self.server_url, timeout=self._redis_timeout)
        self._left.callback(client.close)
        return client

    @cached_property
    def server(self) -> Server:
        _ = self.facts  # refuse before anything is written
        server = Server(self.server_url, timeout=self._redis_timeout)
        self._left.callback(server.close)
        return server

    def hurry(self) -> None:
        """The command is about to end: from now on it waits for Redis no longer than IMPATIENT seconds a call."""
        for name in {"client", "server"} & self.__dict__.keys():
            self.__dict__.pop(name).close()
        self._redis_timeout = IMPATIENT

    @property
    def frontier(self) -> Frontier:
        """The frontier of the store's present life."""
        return Frontier(self.server, self.site.name, self.store.source.store_id)

    @property
    def tickets(self) -> Tickets:
        return Tickets(
            self.client, self.site.name, self.store.source.store_id, slice_seconds=self.site.knobs.slice
        )

    def show_metrics(self) -> str | None:
        """Show metrics until the engine is closed, if that was asked for; where. Raises UsageError for a busy port."""
        chosen = self.settings
        if chosen.metrics_port is None:
            return None
        from limpet import gauges, metrics  # what others need not pay for

        self.totals = metrics.Totals()
        looks = gauges.Gauges(chosen, self.site.name).look
        exposition = metrics.Exposition(self.site.name, self.totals, looks)
        url, close = metrics.serve(exposition, chosen.metrics_address, chosen.metrics_port)
        self._left.callback(close)
        return url

    def take_report(self, report: str) -> None:
        """Count what a worker has, where metrics are shown."""
        if self.totals:
            self.totals.take(report)

    def count(self, name: str, by: int = 1) -> None:
        """Count something that this process did, where metrics are shown."""
        if self.totals:
            self.totals.add(name, by=by)

    def now(self) -> int:
        """The frontier's time in ms."""
        return self.frontier.status().now

    # -- recovery

    @property
    def lease_ms(self) -> int:
        return round(self.site.knobs.lease * 1000)

    def nobody_works(self) -> bool:
        """Whether no worker can be alive: known on an embedded server alone, whose workers are all here."""
        own = self._presence.path if self._presence else None
        return self.embedded and not anyone_working(self.settings.home, own)

    def relay(self) -> None:
        """Apply what is committed, all of it; rebuilds first where the frontier was lost.

        While another process rebuilds it is waited for. Raises FrontierUnavailable when that takes longer than its
        token can stand without a sign of life.
        """
        until = time.monotonic() + REBUILD_TTL / 1000 + 5
        while time.monotonic() < until:
            try:
                self.count("relayed_rows", Relay(self.store, self.frontier, self.witness).run())
                return
            except CursorMissing as error:
                if self.rebuild(drop=error.drop) is None:
                    time.sleep(0.1)  # somebody else is at it
            except StoreReborn as error:
                log.error("%s", error)
                self.store.source = self.store.identity()
        raise FrontierUnavailable("another process has been rebuilding the frontier for too long")

    def rebuild(self, *, asked: bool = False, drop: tuple[int, str] | None = None) -> Rebuilt | None:
        """Build the frontier from SQL; `asked` drops a cursor that stands. None when another does it."""
        drop = self.frontier.cursor() if asked else drop
        try:
            return self._rebuild(drop)
        except StoreReborn as error:
            log.error("%s", error)
            self.store.source = self.store.identity()
            return self._rebuild(None)

    def _rebuild(self, drop: tuple[int, str] | None) -> Rebuilt | None:
        rebuilt = rebuild(
            self.store, self.frontier, self.witness, lease=self.lease_ms, drop=drop,
            nobody_works=self.nobody_works,
        )  # fmt: skip
        self.count("rebuilds", rebuilt is not None)
        return rebuilt

    def bury(self) -> int:
        """End the leases of workers that died on this machine and of which nobody has seen to; returns how many leases
        there were. Raises FrontierError: then they are found again."""
        ended = 0
        for name in bereft(self.settings.home):
            ended += self.frontier.reap(f"{name}/")
            try:
                self.tickets.forget_worker(name)
            except RedisError as error:
                raise FrontierUnavailable(complaint(error)) from error
            bury(self.settings.home, name)
        return ended

    def recover(self) -> int:
        """After a crash: end the leases of workers that cannot be alive; returns how many there were.

        Elsewhere than on an embedded server those of another machine lapse, since nobody knows whether it lives.
        """
        with Recovery(self.settings.home) as recovery:  # no worker begins between the look and the reaping
            recovery.hold()
            ended = self.frontier.reap("") if self.nobody_works() else 0
            ended += self.bury()
            self.relay()
        return ended

    def presence(self) -> Presence:
        """This process as one that lives in the home folder, until the engine is closed."""
        if self._presence is None:
            self._presence = Presence(self.settings.home, "front").hold()
            self._left.callback(self._presence.close)
        return self._presence


def worker_flags(engine: Engine) -> list[str]:
    """The options with which a worker process finds the same crawl."""
    chosen = engine.settings
    if chosen.redis_url is None and not chosen.home.exists():
        raise StoreUnavailable(f"{chosen.home} is gone")
    places = ["--home", str(chosen.home), "--store", str(chosen.store_path)]
    said = {"--ignore-robots": engine.ignores_robots, "--verbose": bool(engine.flags.get("verbose"))}
    said["--metrics"] = chosen.metrics_port is not None
    return places + [flag for flag, holds in said.items() if holds]


def worker_environ(engine: Engine) -> dict[str, str]:
    """What goes to a worker by its environment: the URLs may hold passwords, which `ps` would show."""
    chosen = engine.settings
    names = ("redis_url", "contact", "proxy", "ca_bundle")
    given = {settings.NAMES[name][1]: str(getattr(chosen, name) or "") for name in names}
    return {**given, settings.NAMES["log_format"][1]: logs.name()}
