"""A new life of the store: what happens when it turns out that it went back in time (R-9)."""

from __future__ import annotations

import logging
import secrets

from limpet_store import outbox
from limpet_store.message import Source, gap_message
from limpet_store.outbox import Entry
from limpet_store.store import Store, wall_ms
from limpet_store.witness import Witness

log = logging.getLogger("limpet.store")


def begin(store: Store, witness: Witness, seen_as: str) -> bool:
    """Give the store a new store_id, epoch and life in one transaction; False when that has been done already.

    `seen_as` is the store_id under which the loss was seen. Every worker drops its leases at its next
    transaction, subscribers meet a new source, and its first message says that there is a gap.
    """
    with store.db.write():
        if store.identity().store_id != seen_as:
            return False
        born = _begin(store).store_id
    witness.write(born, 0, "-")
    log.error(
        "%s went back in time: it speaks as a new source from now on (%s, was %s)",
        store.db.path,
        born,
        seen_as,
    )
    return True


def renew(store: Store) -> Source:
    """The same for a copy that nobody else uses, before it takes the place of a store."""
    with store.db.write():
        return _begin(store)


def _begin(store: Store) -> Source:
    before = store.identity()
    life, _ = outbox.top(store.db)
    source = Source(store.crawl, secrets.token_hex(8), max(before.epoch + 1, wall_ms()))
    store.db.run("UPDATE meta SET store_id = ?, epoch = ?, life = ?", (source.store_id, source.epoch, life))
    message = gap_message(source, before=before.store_id, at=wall_ms())
    outbox.append(store.db, [Entry("gap", messages=[message])], wall_ms())
    return source
