"""L6: random histories. Two workers, an operator and the world's faults take turns; in the end all must be right.

A worker's turn may be killed, or lose a reply of Redis, before or after any of its calls. Every history comes from
its number alone.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from crash import shop
from crash.children import last_words
from crash.invariants import Truth, violations
from crash.scenarios import crawl
from crash.world import Process, Website, World

from limpet_consumers.http import Request, Response
from limpet_consumers.turn import Worker
from limpet_producer import enqueue
from limpet_store import rounds
from limpet_store.errors import FrontierError, FrontierUnavailable
from limpet_store.feeder import feed
from limpet_store.store import StoreReborn

LEASE = 20_000
EVENTS = (
    ["turn"] * 24 + ["killed"] * 5 + ["cut"] * 3 + ["tick"] * 5 + ["stall"] * 2 + ["relay"] * 3 + ["change"] * 3
    + ["fail", "flush", "save", "rollback", "rebuild", "refresh", "clock", "kill", "feed"]
)  # fmt: skip


class Killed(BaseException):
    """The process is gone; nothing catches this but the history."""


class Actor:
    """A worker process, whose calls can be made to fail at a given one."""

    def __init__(self, world: World, token: str) -> None:
        self.world = world
        self.process = Process(world, token, alone=False)
        self.worker: Worker = self.process.worker(self)
        self._left = -1
        self._fault: BaseException = Killed()
        self._after = False
        for owner, name in ((self.process.server, "_exchange"), (self.process.store.db, "_commit")):
            setattr(owner, name, self._counted(getattr(owner, name)))
        self.fetch: Callable[[Request, float], Response] = self._counted(world.fetch)

    def arm(self, calls: int, fault: BaseException, *, after: bool) -> None:
        """Let the call after so many others fail, before or after it has had its effect."""
        self._left, self._fault, self._after = calls, fault, after

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            hit, self._left = self._left == 0, self._left - 1
            cut = hit and (isinstance(self._fault, Killed) or call.__name__ == "_exchange")
            if cut and not self._after:
                raise self._fault
            answer = call(*args)
            if cut:
                raise self._fault
            return answer

        return counted

    def renew(self) -> None:
        """What the background thread does at a third of a lease."""
        try:
            self.worker.held.renew(self.process.frontier)
        except FrontierError:
            pass


class History:
    """One random history on one world."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.world = World(Website(shop.pages(listings=2, each=2)), shop.site())
        self.actors: dict[str, Actor] = {}
        self.told: list[str] = []
        self.saved: Any = None
        self.lives = 1

    def run(self, length: int) -> list[str]:
        """What is wrong in the end, the events before it."""
        world = self.world
        try:
            with world.clock.running():
                with Process(world, "seeder", alone=False) as process:
                    enqueue.seeds(process.store, process.site.entries, process.rules, now=process.now())
                for _ in range(self.random.randrange(5, length)):
                    event = self.random.choice(EVENTS)
                    self.told.append(event)
                    getattr(self, event)()
                return self._drain()
        except Exception:
            return [last_words()]
        finally:
            for token in list(self.actors):
                self._drop(token)
            world.clean()

    def _drain(self) -> list[str]:
        """Everybody dies; then one more round without trouble: the records must be what the site says."""
        world = self.world
        for token in list(self.actors):
            self._drop(token)
        world.website.first.clear()
        world.clock.ms += 60_000
        crawl(world, "last")
        last = world.read("SELECT max(number) FROM rounds")[0][0]
        crawl(world, "last", round_=last + 1)
        pages = world.website.pages
        records = {name: (None, data) for name, (_, data) in shop.records(pages).items()}
        truth = Truth(records, shop.states(pages), requests=world.website.log)
        return violations(world, truth)

    def _actor(self) -> Actor:
        token = self.random.choice(["one", "two"])
        self.told[-1] += f" {token}"
        if token not in self.actors:
            self.actors[token] = Actor(self.world, token)
        return self.actors[token]

    def _drop(self, token: str) -> None:
        actor = self.actors.pop(token)
        actor.arm(-1, Killed(), after=False)
        actor.process.close()

    def turn(self) -> None:
        actor = self._actor()
        try:
            actor.worker.turn()
        except (FrontierError, StoreReborn):
            pass
        except Killed:
            self._drop(actor.process.token)

    def _armed(self, fault: BaseException) -> None:
        actor = self._actor()
        calls, after = self.random.randrange(12), self.random.random() < 0.5
        self.told[-1] += f" at {calls}, {'after' if after else 'before'}"
        actor.arm(calls, fault, after=after)
        try:
            actor.worker.turn()
        except FrontierError:
            pass
        except Killed:
            self._drop(actor.process.token)
        if actor.process.token in self.actors:
            actor.arm(-1, Killed(), after=False)

    def killed(self) -> None:
        self._armed(Killed())

    def cut(self) -> None:
        self._armed(FrontierUnavailable("the reply was lost"))

    def kill(self) -> None:
        if self.actors:
            self._drop(self.random.choice(sorted(self.actors)))

    def tick(self) -> None:
        """Time passes, and leases are renewed meanwhile."""
        for _ in range(self.random.randrange(1, 6)):
            self.world.clock.ms += LEASE // 3
            for actor in self.actors.values():
                actor.renew()

    def stall(self) -> None:
        """Time passes while one worker, or all, stand still."""
        stalled = self.random.choice(["one", "two", "both"])
        self.told[-1] += f" {stalled}"
        for _ in range(4):
            self.world.clock.ms += LEASE // 3
            for token, actor in self.actors.items():
                if stalled not in (token, "both"):
                    actor.renew()

    def relay(self) -> None:
        with Process(self.world, "operator", alone=False) as process:
            process.relay()

    def rebuild(self) -> None:
        with Process(self.world, "operator", alone=False) as process:
            process.rebuild(asked=True)

    def feed(self) -> None:
        with Process(self.world, "operator", alone=False) as process:
            process.relay()
            feed(process.store, process.frontier.fed(), process.now())

    def refresh(self) -> None:
        """The crawl's command: the done-check, and a new round."""
        with Process(self.world, "operator", alone=False) as process:
            process.relay()
            if rounds.finish(process.store, process.now()):
                rounds.start(process.store, "asked for", process.now())
            rounds.refresh(process.store, process.now())

    def change(self) -> None:
        """The site changes a price or a stock."""
        path = self.random.choice(sorted(self.world.website.pages))
        n, value = path.rpartition("/")[2], str(self.random.randrange(2, 9))
        at = int(n) * 2 + 1
        self.world.website.pages[path] = (
            shop.product(n, value)
            if path.startswith("/product")
            else shop.listing({str(at): value, str(at + 1): "1"}, "/list/1" if n == "0" else "")
        )

    def fail(self) -> None:
        """The next two answers of a page are failures."""
        site = self.world.website
        path = self.random.choice(sorted(site.pages))
        site.first[path] = [200] * site.log[path] + [self.random.choice([0, 500]), 500]

    def clock(self) -> None:
        """Redis's clock is set, forward or back."""
        self.world.clock.skew = self.random.choice([-3_600_000, -30_000, 0, 30_000, 3_600_000])
        self.told[-1] += f" {self.world.clock.skew}"

    def flush(self) -> None:
        self.world.client().flushall()

    def save(self) -> None:
        self.saved = copy.deepcopy(dict(self.world.redis.dbs[0].items()))

    def rollback(self) -> None:
        """Redis restarts from an old snapshot, or empty: another run of the server."""
        space = self.world.redis.dbs[0]
        with self.world.redis.lock:
            space.clear()
            space.update(copy.deepcopy(self.saved or {}))
        self.lives += 1
        self.world.run_id = f"run{self.lives}"
        for actor in self.actors.values():
            actor.process.server.close()
            actor.process.server._run_id = self.world.run_id


def play(number: int, length: int = 60) -> str | None:
    """What is wrong with this history, or None."""
    history = History(number)
    found = history.run(length)
    return f"{'; '.join(found[:4])}\n    after {', '.join(history.told)}" if found else None
