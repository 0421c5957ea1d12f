"""What a URL on a command line may be called in the store."""

from __future__ import annotations

from limpet.engine import Engine
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected


def canonicals(engine: Engine, url: str) -> tuple[str, ...]:
    """Its canonical form by the site's rules and by none, since it may have been stored under others; as it is where
    it is no URL."""
    try:
        return tuple(dict.fromkeys((engine.site.bounds.admit(url).canonical, admit(url).canonical, url)))
    except URLRejected:
        return (url,)
