"""limpet: a crash-safe, idempotent scraper. What a site file needs is here."""

from limpet.page import MissingValue, Page
from limpet.site import VERSION as __version__
from limpet.site import Site
from limpet_store.errors import ExtractError, LimpetError, SiteError, StoreError, URLRejected, UsageError
from limpet_store.items import Link, Record

__all__ = [
    "ExtractError",
    "LimpetError",
    "Link",
    "MissingValue",
    "Page",
    "Record",
    "Site",
    "SiteError",
    "StoreError",
    "URLRejected",
    "UsageError",
    "__version__",
]
