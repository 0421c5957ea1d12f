"""Pausing: of a crawl, or of a host, nothing is begun until it is resumed. A fact in SQL, told to the frontier as an
outbox op; attempts look at the row itself, so a page that was leased before is put back."""

from __future__ import annotations

from limpet_store import hosts, outbox
from limpet_store.hosts import NAMES, ORIGIN
from limpet_store.outbox import Entry
from limpet_store.store import Store

PAUSED = "SELECT paused FROM meta"
NAMED = f"SELECT h.id, {ORIGIN} FROM hosts h WHERE ? IN {NAMES} ORDER BY h.id"


def is_paused(store: Store) -> bool:
    """Whether the crawl is."""
    return bool(store.db.value(PAUSED))


def crawl(store: Store, paused: bool, *, now: int) -> bool:
    """Pause the crawl, or resume it; False when it was so already.

    When it returns, no page is attempted any more (or pages are again, once the row is relayed). What had been
    attempted is finished: of it a request may still go out. Hosts that are paused by themselves stay so.
    """
    with store.db.write():
        store.check_identity()
        if is_paused(store) == paused:
            return False
        store.db.run("UPDATE meta SET paused = ?", (int(paused),))
        outbox.append(store.db, [Entry("pause", [("c", int(paused))])], now)
    return True


def named(store: Store, name: str) -> dict[int, str]:
    """The hosts that go by this name, each with its origin: `shop.example` means all its schemes and ports,
    `shop.example:8080` and `https://shop.example` fewer."""
    return dict(store.db.rows(NAMED, (name.rstrip("/").lower(),)))


def host(store: Store, ids: list[int], paused: bool, *, now: int) -> list[int]:
    """Pause these hosts, or resume them; returns which were not so already. As `crawl`, for one host each."""
    changed, ops = [], []
    with store.db.write():
        store.check_identity()
        for id_ in ids:
            known = hosts.load(store.db, id_)
            if bool(known.paused) == paused:
                continue
            known.paused = int(paused)
            store.db.run("UPDATE hosts SET paused = ? WHERE id = ?", (known.paused, id_))
            ops.append(known.op)
            changed.append(id_)
        if ops:
            outbox.append(store.db, [Entry("pause", ops)], now)
    return changed
