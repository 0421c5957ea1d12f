"""The leased frontier: pages by when they are visible, in Redis sorted sets. One verb is one Lua script.

What is here is advice about who works on what, and when; SQL says what is true. Verbs may be repeated: a lease
call by its nonce, the others by what they compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from limpet_store import keys, scripts
from limpet_store.attempts import Lease
from limpet_store.errors import FrontierUnavailable
from limpet_store.outbox import OutboxRow
from limpet_store.retry import HORIZON, LONGEST
from limpet_store.server import Script

REBUILD_TTL = 30_000  # ms that a rebuilder's token stands without a chunk
JITTER = 0.2  # up to so much of a host's delay comes on top of it
MOST_SLACK = 4_000  # ms; the longest slack that a lease call may ask for
PACE_TTL = 600  # seconds that a worker's finding about the number in flight is of use
STREAM_WINDOW = (
    10_000  # messages kept in the stream, some 6 MB of small ones; older ones are read from the outbox
)


class Caller(Protocol):
    """A connection to Redis, as the frontier needs it; `run_id` is that of the server it is connected to now."""

    @property
    def run_id(self) -> str: ...
    def call(self, script: Script, keys: Sequence[str], args: Sequence[str | int | bytes]) -> Any: ...
    def command(self, *args: str | int | bytes) -> Any: ...


class CursorMissing(FrontierUnavailable):
    """The frontier was lost, or never built: it is to be rebuilt before anything is leased.

    `drop` is a cursor that stands and is of no use any more: the rebuild removes it first.
    """

    def __init__(self, message: str, drop: tuple[int, str] | None = None) -> None:
        super().__init__(message)
        self.drop = drop


@dataclass(frozen=True, slots=True)
class Leased:
    """A lease call's reply: the frontier's time, when the next host is due (None: none waits), the pages."""

    now: int
    next_at: int | None
    leases: list[Lease]


@dataclass(frozen=True, slots=True)
class FrontierStatus:
    """Where the frontier is. `cursor` is None while it is lost."""

    now: int
    cursor: tuple[int, str] | None
    hosts: int
    leased: int
    messages: int
    next_at: int | None


@dataclass(frozen=True, slots=True)
class InFrontier:
    """Pages that can be leased now, are leased, and can be leased later."""

    ready: int = 0
    leased: int = 0
    delayed: int = 0

    def __add__(self, other: InFrontier) -> InFrontier:
        return InFrontier(self.ready + other.ready, self.leased + other.leased, self.delayed + other.delayed)


@dataclass(frozen=True, slots=True)
class Glance:
    """A page in the frontier, in ms: from when it can be leased, until when it is, and its host's next slot. None: the
    frontier does not have it, or has no such time."""

    visible_at: int | None
    leased_until: int | None
    slot: int | None


@dataclass(frozen=True, slots=True)
class InHost:
    """A host in the frontier: when it can next give out a page (ms; None: it has none to give), pages that wait, and
    pages that are leased."""

    next_at: int | None
    waiting: int
    leased: int


class Frontier:
    """The verbs of one crawl's frontier in one life of its store. Raises FrontierUnavailable from all of them."""

    def __init__(self, server: Caller, crawl: str, store_id: str) -> None:
        self._server = server
        self._crawl = crawl
        self._store_id = store_id
        self.prefix = keys.prefix(crawl, store_id)

    def _call(self, name: str, *args: str | int | bytes) -> Any:
        """One verb; once more when the connection was lost, under the run id of the new one."""
        try:
            return self._once(name, args)
        except FrontierUnavailable:
            return self._once(name, args)

    def _once(self, name: str, args: Sequence[str | int | bytes]) -> Any:
        # Connecting reads the run id: it must be known before the arguments are put together.
        return self._server.call(scripts.load(name), [self.prefix], (self._server.run_id, *args))

    def lease(
        self, nonce: str, want: int, polite: int, *, lease: int, slack: int, jitter: float = 0.0
    ) -> Leased:
        """Lease up to `want` pages, at most `polite` of them on hosts with a delay; times in milliseconds.

        `jitter` in 0..1, drawn by the caller, says how much of the most is added to the delays of those hosts.
        A call repeated under its nonce gives what is still leased under it. Raises CursorMissing.
        """
        reply = _standing(
            self._call("lease", nonce, want, polite, lease, slack, LONGEST, _thousandths(jitter))
        )
        pages = [int(member) for member in reply[3:]]
        leases = [Lease(page, host, nonce) for page, host in zip(pages[::2], pages[1::2], strict=True)]
        return Leased(int(reply[1]), _when(reply[2]), leases)

    def renew(self, leases: Sequence[Lease], lease: int) -> list[bool]:
        """Keep the leases for another `lease` ms; says which are still ours. Raises CursorMissing."""
        reply = _standing(self._call("renew", lease, *_flat(leases)))
        return [kept == 1 for kept in reply[2:]]

    def release(self, leases: Sequence[Lease]) -> int:
        """Give back pages that were never attempted; one that is not ours any more is left alone."""
        return int(self._call("release", *_flat(leases))) if leases else 0

    def reap(self, token: str) -> int:
        """End the leases of a worker known to be dead: all whose nonces begin with `token`."""
        return int(self._call("reap", token))

    def apply(self, cursor: tuple[int, str], rows: Sequence[OutboxRow]) -> bool:
        """Fold the rows, in order, if the cursor is `cursor`; False when it is elsewhere. Raises CursorMissing."""
        messages = [part for row in rows for part in _stream(row)]
        ops = [op for row in rows for op in row.ops]
        last = rows[-1]
        reply = self._call(
            "apply", *cursor, last.seq, last.mark, LONGEST, STREAM_WINDOW, len(messages) // 2, *messages, *ops
        )
        return bool(_standing(reply)[0] == b"ok")

    def cursor(self) -> tuple[int, str] | None:
        """The last outbox row applied; None when the frontier is lost."""
        return self.status().cursor

    def status(self) -> FrontierStatus:
        """Where the frontier is, by one read-only call."""
        now, seq, mark, hosts, leased, messages, next_at = self._call("status")
        cursor = (int(seq), mark.decode()) if seq else None
        return FrontierStatus(int(now), cursor, hosts, leased, messages, _when(next_at))

    def pace(self) -> int:
        """How many requests the last slice let overlap; 1 when none has said."""
        found = self._server.command("GET", f"{self.prefix}:pace")
        return int(found) if found and found.isdigit() else 1

    def note_pace(self, threads: int) -> None:
        """Tell the next slice how many requests are worth overlapping."""
        self._server.command("SET", f"{self.prefix}:pace", threads, "EX", PACE_TTL)

    def fed(self) -> int:
        """The horizon's mark in ms: pages due up to it are in the frontier."""
        return int(self._server.command("GET", f"{self.prefix}:fed") or 0)

    def holds(self, page: int, host: int) -> bool:
        """Whether the frontier has the page, visible or leased."""
        return bool(self._call("holds", page, host))

    def glance(self, page: int, host: int) -> Glance:
        """How it stands with one page, without touching it."""
        visible = self._server.command("ZSCORE", f"{self.prefix}:p:{host}", page)
        leased = self._server.command("ZSCORE", f"{self.prefix}:l:{host}", page)
        slot = self._server.command("HGET", f"{self.prefix}:h:{host}", "s")
        return Glance(*(None if at is None else int(float(at)) for at in (visible, leased, slot)))

    def census(self, hosts: Sequence[int]) -> InFrontier:
        """How many pages of these hosts (a few hundred at most) it has."""
        return InFrontier(*map(int, self._call("census", *hosts)))

    def nearest(self, most: int) -> list[int]:
        """The ids of the hosts that can give out a page next, the nearest first."""
        return [int(host) for host in self._server.command("ZRANGE", f"{self.prefix}:hosts", 0, most - 1)]

    def hosts(self, hosts: Sequence[int]) -> list[InHost]:
        """How these hosts (a few hundred at most) stand, without touching them."""
        return [
            InHost(None if int(at) < 0 else int(at), waiting, leased)
            for at, waiting, leased in self._call("hosts", *hosts)
        ]

    def take_login(self, token: str, lease: int) -> bool:
        """Become the one who logs in, for `lease` ms; False while another is. May be repeated."""
        return bool(self._call("login_take", token, lease))

    def keep_login(self, token: str, lease: int) -> bool:
        """Stay it for another `lease` ms; False when one is not any more."""
        return bool(self._call("login_keep", token, lease))

    def release_login(self, token: str) -> bool:
        """Let others log in; False when the lock was lost before."""
        return bool(self._call("login_release", token))

    def rebuild_begin(self, token: str, drop: tuple[int, str] | None) -> str:
        """Become the rebuilder: "ok", "busy" (another is), or "standing" (there is a cursor other than `drop`)."""
        seq, mark = drop if drop else ("", "")
        return str(self._call("rebuild_begin", token, REBUILD_TTL, HORIZON, seq, mark)[0].decode())

    def rebuild_chunk(self, what: str, token: str, *args: str | int | bytes) -> bool:
        """One chunk of "hosts", "pages" or "stream"; False when the token is gone."""
        return bool(self._call(f"rebuild_{what}", token, REBUILD_TTL, *args))

    def rebuild_end(self, token: str, cursor: tuple[int, str], *, paused: bool) -> bool:
        """Tell subscribers which store speaks and set the cursor; False when the token is gone. `paused`: the crawl is,
        as of the cursor's row or later."""
        self._server.command("SET", keys.pointer(self._crawl), self._store_id)
        return bool(self._call("rebuild_end", token, *cursor, int(paused)))


def _standing(reply: Any) -> Any:
    if reply[0] == b"rebuild":
        raise CursorMissing("the frontier is to be rebuilt")
    return reply


def _thousandths(jitter: float) -> int:
    return round(1000 * JITTER * jitter)


def _when(reply: bytes) -> int | None:
    at = int(float(reply))
    return None if at < 0 else at


def _flat(leases: Sequence[Lease]) -> list[str | int]:
    return [value for lease in leases for value in (lease.page, lease.host, lease.nonce)]


def _stream(row: OutboxRow) -> Iterable[str | bytes]:
    for n, message in enumerate(row.messages):
        yield f"{row.seq}-{n}"
        yield message
