"""L3, preemption at every line: worker A is stopped between two lines, others act from start to end, A goes on.

A is stopped at its first line after each call to the store, to Redis or to the site: between two such calls it only
computes, and what others do meanwhile is the same at each line. Inside a transaction nobody else could write.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import resources

from crash.children import Children, last_words
from crash.invariants import Truth, violations
from crash.tracer import Tracer
from crash.world import World

from limpet_store import scripts

SPREAD = 8
BOUNDARY = frozenset({"database.py", "server.py"})
for each in (resources.files("limpet_store") / "lua").iterdir():
    if each.name.endswith(".lua") and not each.name.startswith("_"):
        scripts.load(each.name.removesuffix(".lua"))  # so that the first run calls no more than the next


@dataclass(frozen=True)
class Preemption:
    """`others` act while A stands still. `truth` is asked of the world before that, and says how it must end."""

    name: str
    set_up: Callable[[], World]
    act: Callable[[World, str], None]
    others: Callable[[World], None]
    truth: Callable[[World], Truth]
    settle: Callable[[World, str], None]


@dataclass
class Report:
    points: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)

    def text(self, test: str) -> str:
        shown = [f"{what}\n    CRASH_AT='{point}' pytest '{test}'" for point, what in self.failures[:8]]
        return f"{len(self.failures)} failures at {self.points} points\n" + "\n".join(shown)


class _Stops:
    """Calls `then` at the `wanted`-th point (0: never), and counts them."""

    def __init__(self, world: World, wanted: int, then: Callable[[str], None]) -> None:
        self.count = 0
        self._world = world
        self._wanted = wanted
        self._then = then
        self._called = False
        self._asked = 0

    def at_line(self, file: str, line: int) -> None:
        if file in BOUNDARY:
            self._called = True
            return
        asked = self._world.website.log.total()
        if not (self._called or asked > self._asked) or _locked(self._world):
            return
        self._called, self._asked = False, asked
        self.count += 1
        if self.count == self._wanted:
            self._then(f"{file}:{line}#{self.count}")


def _locked(world: World) -> bool:
    """Whether A is inside a transaction, or about to begin one."""
    try:
        lock = os.open(f"{world.db}.lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(lock)


def preempt(case: Preemption, *, only: str = "", every: int = 1, first: int = 1, enough: int = 0) -> Report:
    """Try all points, or from the `first` on each `every`-th of them, or the one that `only` names; stop after `enough`
    failures."""
    world = case.set_up()
    try:
        with world.clock.running():
            report = Report()
            norm, count = _rehearse(case)
            wanted = [int(only.partition("#")[2])] if only else list(range(first, count + 1, every))
            wanted.sort(key=lambda n: n % SPREAD if enough else n)  # bad ones are neighbours: found sooner
            jobs: Iterator[tuple[str, Callable[[], object]]] = (
                (f"#{n}", partial(_one, case, world, n, norm)) for n in wanted if not _done(report, enough)
            )
            for point, answer in Children().each(jobs):
                report.points += 1
                if isinstance(answer, str) and not _done(report, enough):
                    report.failures.append((point, f"{case.name}: {answer}"))
            return report
    finally:
        world.clean()


def _done(report: Report, enough: int) -> bool:
    return bool(enough) and len(report.failures) >= enough


def _rehearse(case: Preemption) -> tuple[Counter[str], int]:
    """A alone: its requests are the norm, its stops the points."""
    world = case.set_up()
    try:
        with world.clock.running():
            stops = _Stops(world, 0, lambda point: None)
            with Tracer(stops.at_line):
                case.act(world, "first")
            return Counter(world.website.log), stops.count
    finally:
        world.clean()


def _one(case: Preemption, world: World, n: int, norm: Counter[str]) -> str | None:
    """In a child: what is wrong in the end when the others act at point `n`."""
    world.move(world.corpse())
    where, truth = "", None

    def stop(point: str) -> None:
        nonlocal where, truth
        where, truth = point, case.truth(world)
        truth.requests = norm
        case.others(world)
        tracer.stop()

    try:
        tracer = Tracer(_Stops(world, n, stop).at_line)
        with tracer:
            case.act(world, "first")
        if truth is None:
            return "the point was not reached"
        case.settle(world, "last")
        found = violations(world, truth)
        return f"A stopped at {where}: {'; '.join(found[:4])}" if found else None
    except Exception:
        return f"A stopped at {where}: {last_words()}"
    finally:
        world.clean()
