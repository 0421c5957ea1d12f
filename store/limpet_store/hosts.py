"""Hosts: politeness as facts in SQL, copied to Redis as outbox ops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from limpet_store.admission import HostRules
from limpet_store.canonical import DEFAULT_PORTS, Address
from limpet_store.database import Database
from limpet_store.ops import Op
from limpet_store.retry import LOGINS

INSERT = """INSERT OR IGNORE INTO hosts (scheme, name, port, scope, delay, max_in_flight)
VALUES (?, ?, ?, ?, ?, ?)"""
FIND = "SELECT id FROM hosts WHERE scheme = ? AND name = ? AND port = ?"
SELECT = """SELECT id, max(delay, crawl_delay), max_in_flight, blocked_until, paused, robots_page,
  robots IS NOT NULL, rests, blocked_at, streak, blocks, error, logins FROM hosts WHERE id = ?"""
ROBOTS_PAGE = """INSERT OR IGNORE INTO pages (key, kind, url, canonical, host, depth, state, due_at, round)
VALUES (?, 'robots', ?, ?, ?, 0, 'pending', ?, ?)"""


@dataclass(slots=True)
class Host:
    """The row of a host, as the outcomes of its pages change it."""

    id: int
    delay: int  # ms from start to start: the site's or the robots.txt's, whichever is longer
    max_in_flight: int
    blocked_until: int
    paused: int
    robots_page: int
    robots_known: int
    rests: int
    blocked_at: int
    streak: int
    blocks: int
    error: str | None
    logins: int

    @property
    def held(self) -> bool:
        """Whether it gives out nothing until somebody has looked: its logins fail."""
        return self.logins >= LOGINS

    @property
    def op(self) -> Op:
        """Its facts for the frontier."""
        first = self.robots_page if self.robots_page and not self.robots_known else 0
        probe = 1 if self.rests else 0
        # A Crawl-delay where the site has none: one request at a time, as wherever there is a delay.
        limit = self.max_in_flight or int(self.delay > 0)
        closed = 1 if self.paused or self.held else 0
        return ("h", self.id, self.delay, limit, self.blocked_until, closed, first, probe)


def load(db: Database, host: int) -> Host:
    """The host's row."""
    return Host(*db.rows(SELECT, (host,))[0])


def save(db: Database, host: Host) -> None:
    """Write back what an outcome changed, inside the caller's transaction."""
    db.run(
        "UPDATE hosts SET blocked_until = ?, blocked_at = ?, blocks = ?, streak = ?, rests = ?, error = ?, logins = ?"
        " WHERE id = ?",
        (
            host.blocked_until,
            host.blocked_at,
            host.blocks,
            host.streak,
            host.rests,
            host.error,
            host.logins,
            host.id,
        ),
    )


def ensure(
    db: Database, addresses: Iterable[tuple[Address, bool]], rules: HostRules, now: int, round_: int
) -> tuple[dict[tuple[str, str, int], int], list[Op]]:
    """Ids of the hosts of the addresses, made where missing, inside the caller's transaction.

    A new host brings the page of its robots.txt and the op that tells the frontier about both. `True` beside an
    address widens the scope to its host.
    """
    ids: dict[tuple[str, str, int], int] = {}
    ops: list[Op] = []
    for address, widens in addresses:
        origin = (address.scheme, address.name, address.port)
        if origin in ids:
            continue
        found = db.one(FIND, origin)
        if found is None:
            ids[origin] = _create(db, address, widens, rules, now, round_, ops)
            continue
        ids[origin] = found[0]
        if widens:
            db.run("UPDATE hosts SET scope = 1 WHERE id = ? AND scope = 0", (found[0],))
    return ids, ops


def _create(
    db: Database, address: Address, widens: bool, rules: HostRules, now: int, round_: int, ops: list[Op]
) -> int:
    origin = (address.scheme, address.name, address.port)
    db.run(INSERT, (*origin, int(widens), rules.delay_ms(address), rules.limit(address)))
    host = int(db.value(FIND, origin))
    if rules.robots:
        port = "" if address.port == DEFAULT_PORTS[address.scheme] else f":{address.port}"
        url = f"{address.scheme}://{address.name}{port}/robots.txt"
        key = f"robots {url}"  # apart from a page that somebody links at the same URL
        db.run(ROBOTS_PAGE, (key, url, url, host, now, round_))
        page = int(db.value("SELECT id FROM pages WHERE key = ?", (key,)))
        db.run("UPDATE hosts SET robots_page = ? WHERE id = ?", (page, host))
        ops.append(load(db, host).op)
        ops.append(("n", page, page, host, now, 0))
    else:
        ops.append(load(db, host).op)
    return host


def follow(db: Database, rules: HostRules) -> list[Op]:
    """Bring the delays and limits of known hosts to what the site says now, inside the caller's transaction."""
    changed = []
    for host, scheme, name, port, delay, limit in db.rows(
        "SELECT id, scheme, name, port, delay, max_in_flight FROM hosts"
    ):
        address = Address("", "", scheme, name, port)
        wanted = (rules.delay_ms(address), rules.limit(address))
        if wanted != (delay, limit):
            db.run("UPDATE hosts SET delay = ?, max_in_flight = ? WHERE id = ?", (*wanted, host))
            changed.append(load(db, host).op)
    return changed


def lift(db: Database) -> list[Op]:
    """Begin with the logins of all hosts anew: those that are held give out pages again. Inside the caller's
    transaction."""
    lifted = []
    for (id_,) in db.rows("SELECT id FROM hosts WHERE logins > 0"):
        host = load(db, id_)
        host.logins, host.error = 0, None
        if not host.blocks and not host.rests:  # then it is the login that it waits for
            host.blocked_until = 0
        save(db, host)
        lifted.append(host.op)
    return lifted
