"""limpet: a crash-safe, idempotent scraper. What a site file needs is here.

A name is loaded when it is asked for: the command line sees to Ctrl-C before the parsers are imported.
"""

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, whose import would take longer than all of this
if TYPE_CHECKING:
    from limpet.missing import MissingValue
    from limpet.page import Page
    from limpet.requesting import graphql, request
    from limpet.site import VERSION as __version__
    from limpet.site import Site
    from limpet_consumers.http import FetchFailed, Request, Response
    from limpet_store.dropping import SESSION_IDS, TRACKING
    from limpet_store.errors import ExtractError, LimpetError, SiteError, StoreError, URLRejected, UsageError
    from limpet_store.items import Link, Record, Rejection
    from limpet_store.secret import Secret as secret

__all__ = [
    "SESSION_IDS",
    "TRACKING",
    "ExtractError",
    "FetchFailed",
    "LimpetError",
    "Link",
    "MissingValue",
    "Page",
    "Record",
    "Rejection",
    "Request",
    "Response",
    "Site",
    "SiteError",
    "StoreError",
    "URLRejected",
    "UsageError",
    "__version__",
    "graphql",
    "request",
    "secret",
]

_PLACES = {
    "limpet.missing": ("MissingValue",),
    "limpet.page": ("Page",),
    "limpet.site": ("Site", "VERSION"),
    "limpet.requesting": ("graphql", "request"),
    "limpet_consumers.http": ("FetchFailed", "Request", "Response"),
    "limpet_store.dropping": ("SESSION_IDS", "TRACKING"),
    "limpet_store.items": ("Link", "Record", "Rejection"),
    "limpet_store.secret": ("Secret",),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'limpet' has no attribute {name!r}")
    wanted = {"__version__": "VERSION", "secret": "Secret"}.get(name, name)
    place = next((place for place, names in _PLACES.items() if wanted in names), "limpet_store.errors")
    globals()[name] = value = getattr(import_module(place), wanted)
    return value
