"""Pages that were given up: which, why, and another chance for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from limpet_store import outbox
from limpet_store.failures import EXPECTED
from limpet_store.hosts import NAMES, ORIGIN
from limpet_store.ops import ranges, shift
from limpet_store.outbox import Entry
from limpet_store.store import Store

CHUNK = 500  # pages in one read, and in one transaction
COLUMNS = f"""p.id, p.due_at, p.url, {ORIGIN}, p.handler, p.code, p.reason, p.status, p.error, p.failures, p.lost,
p.attempted_at"""
DEAD = "p.state = 'dead' AND p.kind <> 'robots' AND p.forgotten = 0"
# By the index of states, where the dead lie together however many pages there are.
FIND = """SELECT {} FROM pages p INDEXED BY pages_due JOIN hosts h ON h.id = p.host
WHERE {} AND (p.due_at, p.id) > (?, ?){} ORDER BY p.due_at, p.id LIMIT ?"""
STILL = f"SELECT p.id, p.host, p.priority FROM pages p WHERE p.id IN ({{}}) AND {DEAD} ORDER BY p.id"
AGAIN = """UPDATE pages SET state = 'pending', due_at = ?, round = ?, refresh_at = NULL, failures = 0, rereads = 0,
lost = 0, reason = NULL, error = NULL WHERE id = ?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which of the dead pages; what is None is no condition.

    `host` is a name, name:port or origin; `match` a pattern for the whole URL in which `*` stands for anything and
    `?` for one character; `error` is somewhere in the error. Without `reason` those that a complete crawl may have
    (broken links, what robots.txt forbids, what the site file excludes) are left out.
    """

    urls: tuple[str, ...] | None = None  # canonical, or as found
    host: str | None = None
    reason: str | None = None
    error: str | None = None
    match: str | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """In SQL, with its parameters."""
        parts: list[tuple[str, list[Any]]] = []
        if self.urls is not None:
            marks = ", ".join("?" * len(self.urls))
            parts.append((f"(p.canonical IN ({marks}) OR p.url IN ({marks}))", [*self.urls, *self.urls]))
        elif self.reason is None:
            parts.append((f"p.reason NOT IN ({', '.join('?' * len(EXPECTED))})", sorted(EXPECTED)))
        if self.host is not None:
            parts.append((f"? IN {NAMES}", [self.host.rstrip("/").lower()]))
        if self.reason is not None:
            parts.append(("p.reason = ?", [self.reason]))
        if self.error is not None:
            parts.append(("instr(p.error, ?)", [self.error]))
        if self.match is not None:
            pattern = self.match.replace("[", "[[]")
            parts.append(("(p.url GLOB ? OR p.canonical GLOB ?)", [pattern, pattern]))
        return "".join(f" AND {sql}" for sql, _ in parts), [value for _, values in parts for value in values]


class DeadPage(NamedTuple):
    """One of them; times in ms. `failures` are those in a row that it died of, `lost` how often its worker died."""

    id: int
    due_at: int
    url: str
    host: str
    handler: str | None
    code: str | None
    reason: str
    status: int | None
    error: str | None
    failures: int
    lost: int
    attempted_at: int | None


def find(store: Store, which: Which) -> Iterator[DeadPage]:
    """The dead pages, a few hundred rows at a time."""
    condition, values = which.condition()
    sql = FIND.format(COLUMNS, DEAD, condition)
    last = (-1, -1)
    while rows := store.db.rows(sql, (*last, *values, CHUNK)):
        yield from map(DeadPage._make, rows)
        last = rows[-1][1], rows[-1][0]


def retry(store: Store, which: Which, *, now: int) -> int:
    """Make them due again with a clean record; returns how many pages. Chunk by chunk: killed and repeated, it goes on.

    What is still forbidden or excluded is given up again before its request.
    """
    wanted = [page.id for page in find(store, which)]  # at first: a worker may give some up again meanwhile
    count = 0
    for at in range(0, len(wanted), CHUNK):
        some = wanted[at : at + CHUNK]
        with store.db.write():
            store.check_identity()
            rows = store.db.rows(STILL.format(", ".join("?" * len(some))), some)
            if not rows:
                continue
            round_ = store.open_round("retry", now)
            store.db.many(AGAIN, [(now, round_, page) for page, _, _ in rows])
            ops = ranges("r", ((page, host, now, shift(priority)) for page, host, priority in rows))
            outbox.append(store.db, [Entry("retry", ops)], now)
        count += len(rows)
    return count
