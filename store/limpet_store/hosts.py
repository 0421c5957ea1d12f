"""Hosts: politeness as facts in SQL, copied to Redis as outbox ops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from limpet_store.admission import HostRules
from limpet_store.canonical import DEFAULT_PORTS, Address
from limpet_store.database import Database
from limpet_store.ops import Op, shift
from limpet_store.retry import DAY, HOUR, LOGINS

INSERT = """INSERT OR IGNORE INTO hosts (scheme, name, port, scope, delay, max_in_flight)
VALUES (?, ?, ?, ?, ?, ?)"""
FIND = "SELECT id FROM hosts WHERE scheme = ? AND name = ? AND port = ?"
ASKED = "max(delay, iif(robots_page > 0, crawl_delay, 0))"  # by the site, and by a robots.txt that is obeyed
DELAY = f"iif({ASKED} > 0, max({ASKED}, pace), 0)"  # ms from start to start; without a delay there is no pace
SELECT = f"""SELECT id, {DELAY}, max_in_flight, blocked_until, paused, robots_page,
  robots IS NOT NULL, rests, blocked_at, streak, blocks, error, logins FROM hosts WHERE id = ?"""
FIRST = 1_000  # priority of robots.txt: it is read again before the pages that have waited for a month
# As people write it, of the table `hosts h`; and all the names that one goes by.
ORIGIN = "h.scheme || '://' || h.name || iif(h.port = iif(h.scheme = 'https', 443, 80), '', ':' || h.port)"
NAMES = "(h.name, h.name || ':' || h.port, h.scheme || '://' || h.name || ':' || h.port, " + ORIGIN + ")"
ROBOTS_PAGE = """INSERT INTO pages (key, kind, url, canonical, host, depth, priority, state, due_at, round)
VALUES (?, 'robots', ?, ?, ?, 0, ?, 'pending', ?, ?)
ON CONFLICT DO UPDATE SET state = 'pending', due_at = excluded.due_at, round = excluded.round RETURNING id"""
# Not more often than once in so many ms, also where it cannot be had and the old rules stand.
RENEW = """UPDATE pages SET state = 'pending', due_at = ?, round = max(round, ?)
WHERE id = (SELECT robots_page FROM hosts WHERE id = ?) AND state = 'done' AND due_at <= ? RETURNING id"""
TO_FOLLOW = "SELECT id, scheme, name, port, delay, max_in_flight, robots_page FROM hosts"


@dataclass(slots=True)
class Host:
    """The row of a host, as the outcomes of its pages change it."""

    id: int
    delay: int
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
    def first(self) -> int:
        """The page that must come before all others: its robots.txt, until its rules are known. 0: none."""
        return 0 if self.robots_known else self.robots_page

    @property
    def op(self) -> Op:
        """Its facts for the frontier."""
        probe = 1 if self.rests else 0
        # A Crawl-delay where the site has none: one request at a time, as wherever there is a delay.
        limit = self.max_in_flight or int(self.delay > 0)
        closed = 1 if self.paused or self.held else 0
        return ("h", self.id, self.delay, limit, self.blocked_until, closed, self.first, probe)


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
    asked = _ask_robots(db, host, address, now, round_) if rules.robots else []
    ops += [load(db, host).op, *asked]
    return host


def _ask_robots(db: Database, host: int, address: Address, now: int, round_: int) -> list[Op]:
    """Make the page of the host's robots.txt, or make it due again."""
    port = "" if address.port == DEFAULT_PORTS[address.scheme] else f":{address.port}"
    url = f"{address.scheme}://{address.name}{port}/robots.txt"
    key = f"robots {url}"  # apart from a page that somebody links at the same URL
    page = int(db.value(ROBOTS_PAGE, (key, url, url, host, FIRST, now, round_)))
    db.run("UPDATE hosts SET robots_page = ? WHERE id = ?", (page, host))
    return [("r", page, page, host, now, shift(FIRST))]


def renew_robots(db: Database, host: int, now: int, age: int, round_: int) -> list[Op]:
    """Make the host's robots.txt due again; the old rules stand until the new ones are there. Inside the caller's
    transaction. `age` is how old rules may be: what fails is not made due again before a 24th of that has passed."""
    found = db.one(RENEW, (now, round_, host, now - age * HOUR // DAY))
    return [("r", found[0], found[0], host, now, shift(FIRST))] if found else []


def keep_pace(db: Database, host: Host, pace: int) -> None:
    """Note the median of its response times (ms), inside the caller's transaction."""
    db.run("UPDATE hosts SET pace = ? WHERE id = ?", (pace, host.id))
    host.delay = load(db, host.id).delay


def follow(db: Database, rules: HostRules, now: int, round_: int) -> list[Op]:
    """Bring known hosts to the delays and limits that the site names now, and to whether robots.txt is obeyed; inside
    the caller's transaction."""
    changed: list[Op] = []
    for host, scheme, name, port, delay, limit, robots in db.rows(TO_FOLLOW):
        address = Address("", "", scheme, name, port)
        wanted = (rules.delay_ms(address), rules.limit(address))
        begins, ends = rules.robots and not robots, robots and not rules.robots
        if wanted == (delay, limit) and not begins and not ends:
            continue
        db.run("UPDATE hosts SET delay = ?, max_in_flight = ? WHERE id = ?", (*wanted, host))
        asked = _ask_robots(db, host, address, now, round_) if begins else []
        if ends:
            db.run("UPDATE hosts SET robots_page = 0 WHERE id = ?", (host,))
        changed += [load(db, host).op, *asked]
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
