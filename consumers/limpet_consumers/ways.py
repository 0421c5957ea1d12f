"""The transport that a site wants."""

from __future__ import annotations

from typing import Any

from limpet_consumers.asking import own_headers
from limpet_consumers.headers import one_line
from limpet_consumers.plugged import Plugged
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.sessions import SessionTransport
from limpet_consumers.transport import Transport
from limpet_store.errors import UsageError
from limpet_store.secret import revealed, stored

Closing = Transport | SessionTransport | Plugged


def way_of(site: SiteRuntime) -> Closing:
    """How requests of the site go out: by its own transport, a session where it has cookies or a login, or plainly.

    Close it in the end. Raises SecretMissing for the proxy's.
    """
    knobs = site.knobs
    if site.transport:
        return Plugged(site.transport, max_body=knobs.max_body)
    options: dict[str, Any] = {
        "connect": knobs.connect_timeout, "read": knobs.read_timeout, "max_body": knobs.max_body,
        "unframed": knobs.unframed,
    }  # fmt: skip
    wants_session = site.cookies or site.session or (site.account and site.account.login)
    if wants_session:
        return SessionTransport(site, **options)
    return Transport(network=site.network, **options)


def check_secrets(site: SiteRuntime) -> None:
    """Raise UsageError for a secret that every request needs and that is not there, or that cannot be sent; its value
    is not told."""
    own_headers(site)
    also = {f"cookie {name}": value for name, value in site.cookies.items()}
    if site.network.proxy:
        also["proxy"] = site.network.proxy
    for what, text in revealed({name: stored(value) for name, value in also.items()}).items():
        if not one_line(text) or (what != "proxy" and ";" in text):
            raise UsageError(f"{what}: its secret is not one line of ASCII that can be sent")
