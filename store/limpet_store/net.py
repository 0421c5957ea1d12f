"""The net under the relay: finds pages that SQL has pending and the frontier has lost. It should never fire."""

from __future__ import annotations

import logging
from collections.abc import Callable

from limpet_store import outbox
from limpet_store.frontier import Frontier
from limpet_store.retry import LONGEST
from limpet_store.store import Store

log = logging.getLogger("limpet.net")

OLDEST = """SELECT id, host FROM pages WHERE state = 'pending' AND (due_at <= ? OR due_at > ?)
ORDER BY due_at LIMIT 1"""


def check(
    store: Store, frontier: Frontier, now: int, rebuild: Callable[[tuple[int, str] | None], object]
) -> bool:
    """Rebuild if the oldest due page is in no frontier although everything is relayed; True when it did so.

    The outbox top is read before the page and again after it, and the cursor must equal it: else a row that
    moves the page may be on its way.
    """
    before = outbox.top(store.db)
    found = store.db.one(OLDEST, (now, now + LONGEST))
    if found is None or frontier.holds(*found):
        return False
    cursor = frontier.cursor()
    if cursor != before or outbox.top(store.db) != before:
        return False
    log.error("page %d is pending and in no frontier: rebuilding it from the store", found[0])
    rebuild(cursor)
    return True
