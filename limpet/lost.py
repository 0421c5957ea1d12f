"""What a worker had in hand when it died, said for who follows a page through the log."""

from __future__ import annotations

import logging
from pathlib import Path

from limpet_store import attempts
from limpet_store.errors import LimpetError
from limpet_store.event import Event
from limpet_store.store import Store

log = logging.getLogger("limpet.page")


def tell(store: Store, token: str, event: str) -> None:
    """A line for each attempt that is open under nonces that begin with `token`; nothing where nobody reads it."""
    if log.isEnabledFor(logging.INFO):
        for page, url, fence, nonce in attempts.in_hand(store.db, token):
            log.info(Event(event, url=url, page=page, attempt=fence, nonce=nonce))


def tell_from(path: Path, crawl: str, token: str) -> None:
    """The same for a process that has no store; one that cannot be read is not told of."""
    if not log.isEnabledFor(logging.INFO):
        return
    try:
        store = Store.open(path, crawl, create=False)
        try:
            tell(store, token, "lost")
        finally:
            store.close()
    except LimpetError as error:
        log.debug("not known what %s had in hand: %s", token, error)
