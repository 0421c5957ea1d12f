"""What a crawl does at this moment, in reads whose cost does not grow with its pages: for who looks every second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from limpet_store.failures import EXPECTED
from limpet_store.store import Store

MOST = 200  # rows of one index that a look reads
ENDS = """SELECT (SELECT fence FROM meta), (SELECT coalesce(max(rowid), 0) FROM records),
  (SELECT paused FROM meta), (SELECT count(*) FROM pages INDEXED BY pages_open WHERE open = 1)"""
ROUND = "SELECT fence FROM rounds ORDER BY number DESC LIMIT 1"
# Of very many in hand those with the lowest ids are looked at.
IN_HAND = f"""SELECT url, attempted_at, nonce FROM (SELECT url, attempted_at, nonce FROM pages INDEXED BY pages_open
WHERE open = 1 ORDER BY id LIMIT {MOST}) ORDER BY attempted_at, url"""
FAILING = f"""SELECT attempted_at, url, error FROM (SELECT attempted_at, url, error FROM pages INDEXED BY pages_failing
WHERE state = 'pending' AND failures > 0 ORDER BY id DESC LIMIT {MOST}) WHERE error IS NOT NULL"""
DEAD = f"""SELECT attempted_at, url, coalesce(error, reason, 'failed'), reason FROM (
SELECT attempted_at, url, error, reason, kind FROM pages INDEXED BY pages_due WHERE state = 'dead'
ORDER BY due_at DESC LIMIT {MOST}) WHERE kind <> 'robots'"""


@dataclass(frozen=True, slots=True)
class Ends:
    """`attempts` and `records` were there ever: attempts of all rounds, records that are gone by now too. `in_hand` are
    pages attempted whose outcome is not committed."""

    attempts: int
    records: int
    paused: bool
    in_hand: int


@dataclass(frozen=True, slots=True)
class InHand:
    """A page that was attempted at `since` (ms) and whose outcome is not committed."""

    url: str
    since: int
    worker: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A page that failed at `at` (ms): it is tried again, or dead."""

    at: int
    url: str
    error: str


def ends(store: Store) -> Ends:
    """Four numbers."""
    attempts, records, paused, in_hand = store.db.rows(ENDS)[0]
    return Ends(attempts, records, bool(paused), in_hand)


def round_began(store: Store) -> int:
    """How many attempts there had been when the newest round began."""
    found = store.db.one(ROUND)
    return int(found[0]) if found else 0


def in_hand(store: Store) -> list[InHand]:
    """Up to 200 pages in hand, the oldest first."""
    return [InHand(url, since or 0, _worker(nonce or "")) for url, since, nonce in store.db.rows(IN_HAND)]


def _worker(nonce: str) -> str:
    """The name in `<worker>/<slice>-<call>-<random>`."""
    return nonce.rpartition("/")[0] or nonce


def failed(store: Store, most: int) -> list[Failed]:
    """The newest failures, the newest first: of the last 200 pages each that are tried again, or dead."""
    found = sorted(_failed(store), key=lambda page: (-page.at, page.url))
    return found[:most]


def _failed(store: Store) -> Iterator[Failed]:
    for at, url, error in store.db.rows(FAILING):
        yield Failed(at or 0, url, error)
    for at, url, error, reason in store.db.rows(DEAD):
        if reason not in EXPECTED:
            yield Failed(at or 0, url, error)
