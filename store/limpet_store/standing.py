"""How the hosts and the outbox of a crawl stand: what `limpet status` shows beside the counts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from limpet_store import outbox
from limpet_store.canonical import DEFAULT_PORTS
from limpet_store.hosts import DELAY
from limpet_store.retry import LOGINS, LONGEST
from limpet_store.store import Store

MOST_HOSTS = 100  # hosts that are listed, the troubled ones first
HOSTS = f"""SELECT id, scheme, name, port, {DELAY}, max_in_flight, paused,
  CASE WHEN blocked_until > :now AND blocked_until <= :now + {LONGEST} THEN blocked_until END AS blocked,
  rests > 0, robots IS NULL AND robots_page > 0, error, logins >= {LOGINS}
FROM hosts ORDER BY logins < {LOGINS}, paused DESC, blocked IS NULL, rests = 0,
  id NOT IN (SELECT value FROM json_each(:busy)), id LIMIT {MOST_HOSTS}"""
BEHIND = "SELECT count(*) FROM outbox WHERE seq > ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStanding:
    """One host; times in ms. `resting`: it failed for every page and is probed with one at a time."""

    id: int
    origin: str
    delay: int
    max_in_flight: int | None
    paused: bool
    blocked_until: int | None
    error: str | None  # its last failure, while it has not answered since
    resting: bool
    robots_unknown: bool
    held: bool  # its logins fail: the next crawl command tries again


def hosts(store: Store, now: int, busy: Sequence[int] = ()) -> tuple[int, list[HostStanding]]:
    """How many hosts there are, and up to 100 of them, the troubled ones first, then those whose ids are in `busy`."""
    listed = [_standing(*row) for row in store.db.rows(HOSTS, {"now": now, "busy": json.dumps(list(busy))})]
    return int(store.db.value("SELECT count(*) FROM hosts")), listed


def _standing(
    id_: int, scheme: str, name: str, port: int, delay: int, limit: int, paused: int, blocked: int | None, rests: int,
    robots: int, error: str | None, held: int,
) -> HostStanding:  # fmt: skip
    place = "" if port == DEFAULT_PORTS[scheme] else f":{port}"
    return HostStanding(
        id=id_, origin=f"{scheme}://{name}{place}", delay=delay, max_in_flight=limit or None,
        paused=bool(paused), blocked_until=blocked, error=error, resting=bool(rests), robots_unknown=bool(robots),
        held=bool(held),
    )  # fmt: skip


def rows_behind(store: Store, cursor: tuple[int, str]) -> int | None:
    """Outbox rows that the frontier has not seen; None when its cursor is of no row of this store."""
    if cursor[0] and store.db.one("SELECT mark FROM outbox WHERE seq = ?", (cursor[0],)) != (cursor[1],):
        return None
    return int(store.db.value(BEHIND, (cursor[0],))) if outbox.top(store.db) != cursor else 0
