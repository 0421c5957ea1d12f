"""The store of one crawl: its identity, and the transaction of a turn."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from limpet_store import attempts, capacity, hosts, outbox, outcomes, pages, widened
from limpet_store.admission import Discovery, HostRules
from limpet_store.attempts import Attempt, Begun, Lease, PageRow
from limpet_store.canonical import CANONICALISER_VERSION
from limpet_store.database import Database, check_schema, create_schema, set_journal_mode
from limpet_store.errors import StoreError, UsageError
from limpet_store.message import Source
from limpet_store.ops import NOBODY, Op, shift
from limpet_store.outbox import Entry
from limpet_store.outcome import Limits, Outcome
from limpet_store.periods import Periods

# They had arrived whole: what failed was the reading of them.
FAILED_IN_HANDLER = """SELECT id, host, priority FROM pages NOT INDEXED
WHERE failures > 0 AND state = 'pending' AND open = 0 AND status BETWEEN 200 AND 299
  OR state = 'dead' AND reason IN ('handler', 'unreadable', 'too many links') AND status BETWEEN 200 AND 299"""
TRY_AGAIN = """UPDATE pages SET state = 'pending', due_at = ?, round = ?, failures = 0, rereads = 0, lost = 0,
reason = NULL WHERE id = ?"""
READ_IN_FULL = """UPDATE pages SET etag = NULL, modified = NULL
WHERE dropped IS NOT NULL AND (etag IS NOT NULL OR modified IS NOT NULL)"""
STOPPED = """SELECT id, host, nonce, due_at, priority FROM pages
WHERE open = 1 AND substr(nonce, 1, length(?)) = ?"""
LOOK_AGAIN = "UPDATE pages SET round = 0 WHERE state = 'dead' AND reason = 'excluded'"  # by the next refresh
OPEN_NEW = """INSERT INTO rounds (number, why, started_at, refreshed_to, fence)
VALUES (?, ?, ?, ?, (SELECT fence FROM meta))"""
OPEN_ROUND = "SELECT number FROM rounds WHERE finished_at IS NULL ORDER BY number DESC LIMIT 1"


class StoreReborn(StoreError):
    """The store went back in time and has a new store_id: drop all leases and open it again."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a turn's transaction settled."""

    attempts: list[Attempt]
    unsettled: list[Lease]
    suspect: bool
    refused: int
    messages: int
    entries: list[Entry | None]  # what each outcome came to; None: it was refused
    buried: list[tuple[PageRow, str]]


class Store:
    """One crawl's SQL store, opened by this process and thread.

    It is known by `source.store_id`: every transaction checks that it is still the same life of the store.
    """

    def __init__(self, db: Database, crawl: str) -> None:
        self.db = db
        self.crawl = crawl
        self.source = self.identity()

    @classmethod
    def open(cls, path: Path, crawl: str, *, create: bool = True) -> Store:
        """Open the crawl's store, made if missing. Raises UsageError when it belongs to another crawl."""
        db = Database(path, create=create)
        try:
            # The epoch begins with the time, so that a store made anew never repeats an idempotency key.
            if create:
                create_schema(db, (CANONICALISER_VERSION, crawl, secrets.token_hex(8), wall_ms()))
            check_schema(db)
            if create:
                set_journal_mode(db)
            owner = db.value("SELECT crawl FROM meta")
            if owner != crawl:
                raise UsageError(f"{path} holds the crawl {owner!r}, not {crawl!r}: use another --store")
            return cls(db, crawl)
        except BaseException:
            db.close()
            raise

    def identity(self) -> Source:
        """Who the store is now."""
        store_id, epoch = self.db.rows("SELECT store_id, epoch FROM meta")[0]
        return Source(self.crawl, store_id, epoch)

    def check_identity(self) -> None:
        """Raise StoreReborn when another life of the store has begun; inside a transaction this is final.

        Raises StoreError when the file itself is gone.
        """
        self.db.check_file()
        if self.db.value("SELECT store_id FROM meta") != self.source.store_id:
            raise StoreReborn(f"{self.db.path}: the store went back in time")

    def turn(
        self,
        done: Sequence[Outcome],
        leases: Sequence[Lease],
        *,
        deciding: attempts.Rules,
        limits: Limits,
        hosting: HostRules,
        periods: Periods | None = None,
    ) -> TurnResult:
        """One transaction (R-8): outcomes of what finished and attempts of what starts next.

        `deciding.now` is in milliseconds of the frontier's clock. When it returns, it is durable. Raises StoreReborn or
        StoreUnavailable, and then nothing that the caller may rely on has happened.
        """
        now = deciding.now
        context = outcomes.Context(self.source, limits, hosting, now, periods)
        with self.db.write():
            self.check_identity()
            entries = [outcomes.commit(self.db, outcome, context) for outcome in done]
            fence = self.db.value("SELECT fence FROM meta")
            begun = attempts.begin(self.db, leases, fence, deciding)
            self._append([entry for entry in entries if entry], begun, fence, now)
        messages = sum(len(entry.messages) for entry in entries if entry)
        return TurnResult(
            begun.attempts,
            begun.unsettled,
            begun.suspect,
            entries.count(None),
            messages,
            entries,
            begun.buried,
        )

    def _append(self, entries: list[Entry], begun: Begun, fence: int, now: int) -> None:
        if begun.entry.ops:
            entries.append(begun.entry)
        outbox.append(self.db, entries, now)
        if begun.fence != fence:
            self.db.run("UPDATE meta SET fence = ?", (begun.fence,))

    def enqueue(self, found: Sequence[Discovery], rules: HostRules, *, now: int, why: str) -> int:
        """Add pages; returns how many were new. Known ones are left alone, but for those that a sample has left out;
        those for which there is no room on their hosts get no row. Opens a round when none is open."""
        fresh = pages.unknown(self.db, found)
        widening = [d for d in found if d.widens]
        held = pages.left_out(self.db, found) if len(fresh) < len(found) else []
        if not fresh and not widening and not held:
            return 0
        with self.db.write():
            self.check_identity()
            top = self.db.value("SELECT coalesce(max(id), 0) FROM pages")
            if rules.max_pages is not None:
                fresh, _ = capacity.fit(self.db, fresh, rules.max_pages)
            round_ = self.open_round(why, now) if fresh else 0
            ops = pages.insert(self.db, fresh, rules, now, round_)
            before = widened.size(self.db) if widening else 0
            self._widen(widening)
            if widening and widened.size(self.db) > before:
                ops += widened.read_again(self.db, now)
            ops += pages.let_go(self.db, held, now, self.open_round(why, now)) if held else []
            if ops:
                outbox.append(self.db, [Entry("enqueue", ops)], now)
            added = self.db.value("SELECT count(*) FROM pages WHERE id > ? AND kind <> 'robots'", (top,))
        return int(added)

    def put_back(self, token: str, *, now: int) -> int:
        """Put back, uncounted, what a worker had in hand that was asked to stop and then had to be killed.

        `token` is what its nonces begin with. Returns the number of pages.
        """
        with self.db.write():
            self.check_identity()
            rows = self.db.rows(STOPPED, (token, token))
            self.db.many("UPDATE pages SET open = 0 WHERE id = ?", [(page,) for page, *_ in rows])
            ops: list[Op] = [
                ("p", id_, host, nonce, due, shift(prio)) for id_, host, nonce, due, prio in rows
            ]
            if ops:
                outbox.append(self.db, [Entry("put back", ops)], now)
        return len(rows)

    def take_code(self, handlers: str, *, now: int) -> int:
        """Note the hash of all handlers' code and of the rules for URLs; when it has changed, pages that failed in a
        handler are due now, dead ones too: what killed them may be mended. Returns how many pages that are.

        Pages that left links out are read in full at their next visit, and the next refresh makes those due that were
        excluded: they may be wanted now.
        """
        if self.db.value("SELECT handlers FROM meta") == handlers:
            return 0
        with self.db.write():
            self.check_identity()
            rows = self.db.rows(FAILED_IN_HANDLER)
            round_ = self.open_round("code changed", now) if rows else 0
            self.db.many(TRY_AGAIN, [(now, round_, page) for page, *_ in rows])
            self.db.run(READ_IN_FULL)
            self.db.run(LOOK_AGAIN)
            self.db.run("UPDATE meta SET handlers = ?", (handlers,))
            ops: list[Op] = [("p", page, host, NOBODY, now, shift(priority)) for page, host, priority in rows]
            if ops:
                outbox.append(self.db, [Entry("code changed", ops)], now)
        return len(rows)

    def follow(self, rules: HostRules, *, now: int) -> int:
        """Take over the site's delays and limits for known hosts, and whether robots.txt is obeyed; returns how many
        ops that made."""
        with self.db.write():
            self.check_identity()
            round_ = self.db.value("SELECT coalesce(max(number), 1) FROM rounds")
            ops = hosts.follow(self.db, rules, now, round_)
            if ops:
                outbox.append(self.db, [Entry("hosts", ops)], now)
        return len(ops)

    def lift(self, *, now: int) -> int:
        """Lift the hold of hosts whose logins failed, and count anew; returns how many hosts that were."""
        with self.db.write():
            self.check_identity()
            ops = hosts.lift(self.db)
            if ops:
                outbox.append(self.db, [Entry("hosts", ops)], now)
        return len(ops)

    def _widen(self, found: Iterable[Discovery]) -> None:
        origins = {(d.address.scheme, d.address.name, d.address.port) for d in found}
        self.db.many(
            "UPDATE hosts SET scope = 1 WHERE scheme = ? AND name = ? AND port = ? AND scope = 0", origins
        )

    def open_round(self, why: str, now: int) -> int:
        """The number of the open round, begun if there is none; inside the caller's transaction."""
        found = self.db.one(OPEN_ROUND)
        if found:
            return int(found[0])
        number = int(self.db.value("SELECT coalesce(max(number), 0) + 1 FROM rounds"))
        self.db.run(OPEN_NEW, (number, why, now, None))
        return number

    def close(self) -> None:
        """Close the connection."""
        self.db.close()


def wall_ms() -> int:
    """This machine's time in milliseconds, for rows made before the frontier could be asked."""
    return time.time_ns() // 1_000_000
