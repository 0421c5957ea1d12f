"""The transport that a site wants."""

from __future__ import annotations

from typing import Any

from limpet_consumers.plugged import Plugged
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.sessions import SessionTransport
from limpet_consumers.transport import Transport
from limpet_store.secret import Secret

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
    """Raise SecretMissing for a secret that every request needs and that is not there."""
    for value in (*site.headers.values(), *site.cookies.values(), site.network.proxy):
        if isinstance(value, Secret):
            value.reveal()
