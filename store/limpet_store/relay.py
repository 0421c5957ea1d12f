"""The relay (R-9): it alone moves pages in the frontier, by applying outbox rows in order from the cursor on.

There is no "mark as sent": the cursor in Redis says how far it is, and the apply verb compares it. Relays may
crash, repeat, or run beside each other; a row is applied in its place or not at all.
"""

from __future__ import annotations

from limpet_store import life, outbox
from limpet_store.frontier import CursorMissing, Frontier
from limpet_store.outbox import OutboxRow
from limpet_store.store import Store, StoreReborn
from limpet_store.witness import Witness

MOST = 1_000  # page moves and messages in one call, so that a script stays short


class Relay:
    """Applies one store's outbox to one frontier."""

    def __init__(self, store: Store, frontier: Frontier, witness: Witness) -> None:
        self._store = store
        self._frontier = frontier
        self._witness = witness
        self._cursor: tuple[int, str] | None = None  # where it was after our last apply; the verb compares

    def run(self) -> int:
        """Apply everything committed so far; returns how many rows.

        Raises CursorMissing when the frontier was lost (rebuild it), StoreReborn when the store went back in
        time, FrontierUnavailable when Redis does not answer. After any of them nothing is half-applied.
        """
        applied = 0
        while True:
            cursor = self._cursor or self._frontier.cursor()
            if cursor is None:
                raise CursorMissing("the frontier is to be rebuilt")
            rows = self._rows_after(cursor)
            if not rows:
                return applied
            self._store.check_identity()  # a relay of an old life must not speak for the new one
            self._witness.write(self._store.source.store_id, rows[-1].seq, rows[-1].mark)
            self._cursor = None  # unknown until the reply is here
            if self._frontier.apply(cursor, rows):
                self._cursor = (rows[-1].seq, rows[-1].mark)
                applied += len(rows)

    def _rows_after(self, cursor: tuple[int, str]) -> list[OutboxRow]:
        """The next rows that fit one call. The cursor's own row is looked at first: it must be the one we know."""
        found = outbox.after(self._store.db, cursor[0])
        if cursor[0] and not (found and (found[0].seq, found[0].mark) == cursor):
            self._went_back(cursor)
        rows = found[1:] if cursor[0] else found
        taken, size = 0, 0
        for row in rows:
            size += row.size
            if taken and size > MOST:
                break
            taken += 1
        return rows[:taken]

    def _went_back(self, cursor: tuple[int, str]) -> None:
        store_id, pruned = self._store.db.rows("SELECT store_id, pruned FROM meta")[0]
        if store_id == self._store.source.store_id:
            if cursor[0] < pruned:  # the stream slept past the retention: a rebuild, not another life
                raise CursorMissing("the cursor is older than the outbox", drop=cursor)
            life.begin(self._store, self._witness, store_id)
        raise StoreReborn(f"{self._store.db.path}: the store went back in time")
