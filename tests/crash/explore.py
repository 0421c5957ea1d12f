"""L1, die at every line: run a scenario under the tracer; wherever the world has changed, fork, and let the child be
the world after kill -9: it opens everything anew, runs the same command again, and checks the invariants.

With `deaths` 2 the command that recovers is killed at each of its lines as well.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from crash.children import Children, last_words
from crash.fingerprint import fingerprint
from crash.invariants import Truth, violations
from crash.tracer import Tracer
from crash.world import World

WRITERS = frozenset(
    {"database.py", "store.py", "relay.py", "life.py", "witness.py", "rebuild.py", "engine.py"}
)


@dataclass(frozen=True)
class Scenario:
    """`set_up` makes a world (untraced); `act` is what is killed, and what is run again; `truth` how it must end."""

    name: str
    set_up: Callable[[], World]
    act: Callable[[World, str], None]
    truth: Callable[[World], Truth]


@dataclass
class Report:
    """What an exploration saw. A failure names its point: `only=` of `explore` goes there alone."""

    points: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def text(self, test: str) -> str:
        """The failures, each with the command that repeats it."""
        shown = [f"{what}\n    CRASH_AT='{point}' pytest '{test}'" for point, what in self.failures[:8]]
        return f"{len(self.failures)} failures at {self.points} points\n" + "\n".join(shown)


def explore(scenario: Scenario, *, deaths: int = 1, only: str = "", enough: int = 0) -> Report:
    """Explore all points of a scenario, or those whose name begins with `only`; stop after `enough` failures."""
    world = scenario.set_up()
    try:
        with world.clock.running():
            plain, expected = _rehearse(scenario)
            run = _Run(scenario, expected, only, enough)
            run.roots = plain if deaths > 1 else set()
            run.trace(world, "", deaths)
        return run.report
    finally:
        world.clean()


def _rehearse(scenario: Scenario) -> tuple[set[int], Truth]:
    """One run without a crash: it must hold by itself; its requests are the norm, its worlds the ones to expand."""
    world = scenario.set_up()
    with world.clock.running():
        watch = _Watch(world)
        prints: set[int] = set()

        def at_line(file: str, line: int) -> None:
            if watch.changed(file):
                prints.add(fingerprint(world))

        with Tracer(at_line):
            scenario.act(world, "first")
        truth = scenario.truth(world)
        truth.requests = Counter(world.website.log)
        found = violations(world, truth)
    world.clean()
    if found:
        raise AssertionError(f"{scenario.name} fails without any crash: {found}")
    return prints, truth


class _Watch:
    """Notices cheaply that the world may have changed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.redis_writes = 0
        self._last: tuple[object, ...] = (-1, -1)
        self._fd = 0
        world.redis.dbs[0].add_change_callback(self._wrote)

    def _wrote(self) -> None:
        self.redis_writes += 1

    def changed(self, file: str) -> bool:
        """Asked before a line of `file`: the first line of ours after a write is in one of WRITERS."""
        now = (self.redis_writes, self.world.website.log.total())
        if now == self._last[:2] and file not in WRITERS:
            return False
        now += (_size(f"{self.world.folder}/db-wal"), _size(f"{self.world.folder}/db"), self._published())
        same, self._last = now == self._last, now
        return not same

    def _published(self) -> bytes:
        """Its size and time may stay the same when it is overwritten."""
        try:
            self._fd = self._fd or os.open(f"{self.world.folder}/db.published", os.O_RDONLY)
        except FileNotFoundError:
            return b""
        return os.pread(self._fd, 100, 0)

    def close(self) -> None:
        if self._fd:
            os.close(self._fd)


def _size(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


class _Run:
    def __init__(self, scenario: Scenario, truth: Truth, only: str, enough: int) -> None:
        self.scenario = scenario
        self.truth = truth
        self.only = only
        self.enough = enough
        self.report = Report()
        self.roots: set[int] = set()
        self.children = Children()

    def trace(self, world: World, before: str, deaths: int, token: str = "first") -> None:
        """Run the act; before each line at which the world is new, let a child die there."""
        watch = _Watch(world)
        changes = 0

        def at_line(file: str, line: int) -> None:
            nonlocal changes
            if not watch.changed(file) or (self.enough and len(self.report.failures) >= self.enough):
                return
            changes += 1
            point = f"{before}{file}:{line}#{changes}"
            if self.only and not (self.only.startswith(point) or point.startswith(self.only)):
                return
            key = fingerprint(world)
            if key in self.report.seen or (before and key in self.roots):
                return
            self.report.seen.add(key)
            self.report.points += 1
            corpse = world.corpse()
            self.children.fork(point, lambda: self._child(world, corpse, point, deaths))
            while self.children.full():
                self._hear()

        with Tracer(at_line):
            self.scenario.act(world, token)
        watch.close()
        while self.children:
            self._hear()

    def _hear(self) -> None:
        """Wait for a child, and add what it saw."""
        point, child = self.children.hear()
        if isinstance(child, Report):
            self.report.points += child.points
            self.report.failures += child.failures
            self.report.seen |= child.seen
        else:
            self.report.failures.append((point, f"{self.scenario.name}, killed at {point}: {child}"))

    def _child(self, world: World, corpse: Path, point: str, deaths: int) -> Report:
        """The world after the kill: everything is opened anew, and must come right."""
        known = set(self.report.seen)
        self.children = Children(1)
        self.report = Report(seen=set(known))
        world.die(corpse)
        if deaths > 1:
            thread = threading.Thread(target=self._again, args=(world, point, deaths))
            thread.start()
            thread.join()
        else:
            self._restart(world, point)
        self.report.seen -= known
        world.clean()
        return self.report

    def _again(self, world: World, point: str, deaths: int) -> None:
        try:
            self.trace(world, f"{point} ", deaths - 1, "again")
            self._judge(world, point)
        except Exception:
            self.report.failures.append((point, f"{self.scenario.name}, killed at {point}: {last_words()}"))

    def _restart(self, world: World, point: str) -> None:
        try:
            self.scenario.act(world, "again")
            self._judge(world, point)
        except Exception:
            self.report.failures.append((point, f"{self.scenario.name}, killed at {point}: {last_words()}"))

    def _judge(self, world: World, point: str) -> None:
        found = violations(world, self.truth)
        if found:
            self.report.failures.append(
                (point, f"{self.scenario.name}, killed at {point}: {'; '.join(found[:4])}")
            )
