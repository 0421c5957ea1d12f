"""Short ways to make what the store's tests need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limpet_store import records
from limpet_store.admission import Discovery, HostRules
from limpet_store.attempts import Attempt, Lease, Rules
from limpet_store.canonical import admit
from limpet_store.frontier import Frontier
from limpet_store.items import Record
from limpet_store.outbox import OutboxRow
from limpet_store.outcome import Kind, Limits, Outcome
from limpet_store.records import PartWrite
from limpet_store.store import Store, TurnResult

NO_ROBOTS = HostRules(delay=0, robots=False)
RUN = 1  # a host's id where a test has only one
NOW = 1_000_000


def row(seq: int, *ops: tuple[Any, ...], messages: Sequence[str] = ()) -> OutboxRow:
    """An outbox row whose mark is "m<seq>"."""
    return OutboxRow(seq, f"m{seq}", [value for op in ops for value in op], list(messages))


def built(server: Any, *rows: OutboxRow) -> Frontier:
    """A frontier that was rebuilt from nothing and has applied the rows."""
    frontier = Frontier(server, "shop", "s1")
    assert frontier.rebuild_begin("t", None) == "ok"
    assert frontier.rebuild_end("t", (0, ""), paused=False)
    fold(frontier, *rows)
    return frontier


def fold(frontier: Frontier, *rows: OutboxRow) -> None:
    """Apply rows one call each, from wherever the cursor is."""
    for each in rows:
        cursor = frontier.cursor()
        assert cursor is not None
        assert frontier.apply(cursor, [each])


def host(id_: int = RUN, *, delay: int = 0, limit: int = 0, until: int = 0, paused: int = 0, robots: int = 0,
         probe: int = 0) -> tuple[Any, ...]:  # fmt: skip
    return ("h", id_, delay, limit, until, paused, robots, probe)


def pages(first: int, last: int, *, of: int = RUN, due: int = 0, shift: int = 0) -> tuple[Any, ...]:
    return ("n", first, last, of, due, shift)


def lease(frontier: Frontier, nonce: str = "n", want: int = 10, polite: int = 10, *, length: int = 20_000,
          slack: int = 100) -> list[int]:  # fmt: skip
    """The ids of the pages that a lease call gives."""
    return [lease.page for lease in frontier.lease(nonce, want, polite, lease=length, slack=slack).leases]


# -- SQL


def found(*urls: str, **more: Any) -> list[Discovery]:
    return [Discovery(address=admit(url), **more) for url in urls]


def enqueue(store: Store, *urls: str, rules: HostRules = NO_ROBOTS, now: int = NOW, **more: Any) -> int:
    return store.enqueue(found(*urls, **more), rules, now=now, why="first")


def page_id(store: Store, url: str) -> int:
    return int(store.db.value("SELECT id FROM pages WHERE key = ?", (url,)))


def turn(store: Store, *, done: Sequence[Outcome] = (), pages: Sequence[int] = (), now: int = NOW, nonce: str = "n",
         busy: bool = False, limits: Limits | None = None, hosting: HostRules = NO_ROBOTS,
         last_fence: int | None = None, allowed: bool = True, fresh: bool = True) -> TurnResult:  # fmt: skip
    """One turn's transaction."""
    deciding = Rules(
        now=now, busy=busy, max_lost=(limits or Limits()).max_lost, allowed=lambda *_: allowed,
        fresh=lambda _: fresh, last_fence=last_fence,
    )  # fmt: skip
    leases = [Lease(page, RUN, nonce) for page in pages]
    return store.turn(done, leases, deciding=deciding, limits=limits or Limits(), hosting=hosting)


def attempt(store: Store, url: str, *, now: int = NOW, nonce: str = "n") -> Attempt:
    """Attempt one page."""
    (only,) = turn(store, pages=[page_id(store, url)], now=now, nonce=nonce).attempts
    return only


def done(attempt: Attempt, *parts: PartWrite, **more: Any) -> Outcome:
    return Outcome(attempt=attempt, kind=Kind.DONE, status=200, code="h:1", parts=parts, **more)


def part(key: str = "1", *, part: str = "", type_: str = "product", **data: Any) -> PartWrite:
    return records.prepare("shop", Record(type_, key, data, part))


def visit(store: Store, url: str, *parts: PartWrite, now: int = NOW, **more: Any) -> TurnResult:
    """Attempt a page and commit what it gave."""
    return turn(store, done=[done(attempt(store, url, now=now), *parts, **more)], now=now)


def make_due(store: Store, now: int = NOW) -> None:
    """Start a new round over everything."""
    from limpet_store import rounds

    rounds.finish(store, now)
    rounds.start(store, "test", now)
    rounds.refresh(store, now)
