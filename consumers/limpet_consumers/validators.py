"""Validators (RFC 9110, 8.8): kept with the page, and sent back to ask for the page only if it has changed."""

from __future__ import annotations

from collections.abc import Mapping

from limpet_consumers.headers import one_line
from limpet_store import secret
from limpet_store.attempts import PageRow

MOST = 1_000  # characters; a longer one is not kept


def of(page: PageRow) -> dict[str, str]:
    """The headers that make a request for the page conditional; none where it has no validator."""
    sent = {}
    if page.etag:
        sent["If-None-Match"] = page.etag
    if page.modified:
        sent["If-Modified-Since"] = page.modified
    return sent


def kept(headers: Mapping[str, str], name: str) -> str | None:
    """A validator as it can be sent back, to the letter (RFC 9110, 13.1); None for what cannot, or holds a secret."""
    value = headers.get(name, "").strip()
    usable = value and len(value) <= MOST and one_line(value) and not secret.told(value)
    return value if usable else None
