"""Canonical URLs: the identity of a page, by the WHATWG URL standard.

Scheme and host are folded, default ports dropped, dot segments resolved, IDN and percent-encoding brought to one
form, the fragment dropped. Path and query are never lower-cased, sorted or decoded: `/Product/ABC` and
`/product/abc` are two pages. canonical(canonical(u)) == canonical(u). It is what a browser would request, and
what is requested here: escapes stay as they were found.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from ada_url import URL

from limpet_store import secret
from limpet_store.errors import URLRejected

CANONICALISER_VERSION = 1
MAX_URL = 8_192  # characters
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """An admitted URL and where it lives."""

    url: str
    canonical: str
    scheme: str
    name: str
    port: int

    @property
    def authority(self) -> str:
        """`name`, or `name:port` where the port is not the scheme's own."""
        return self.name if self.port == DEFAULT_PORTS[self.scheme] else f"{self.name}:{self.port}"


def admit(url: str) -> Address:
    """The one door for URLs. Raises URLRejected with a short reason for counting; a site may say back a secret that was
    sent to it, and those are not stored."""
    if secret.told(url):
        raise URLRejected(secret.hidden(url), "holds a secret")
    if len(url) > MAX_URL:
        raise URLRejected(url[:100] + "...", "too long")
    try:
        parsed = URL(url)
    except (ValueError, UnicodeEncodeError):
        raise URLRejected(url, "not a URL") from None
    scheme = parsed.protocol[:-1]
    if scheme not in DEFAULT_PORTS:
        raise URLRejected(url, "not http")
    if parsed.username or parsed.password:
        raise URLRejected(f"{scheme}://...@{parsed.host}{parsed.pathname}", "credentials in URL")
    href = parsed.href
    canonical = href.partition("#")[0] if "#" in href else href
    if len(canonical) > MAX_URL:
        raise URLRejected(url[:100] + "...", "too long")
    port = int(parsed.port) if parsed.port else DEFAULT_PORTS[scheme]
    return Address(url.strip().partition("#")[0], canonical, scheme, parsed.hostname, port)


def is_private(name: str) -> bool:
    """Whether a host name is, on its face, this machine or a private network."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(name.strip("[]")).is_global
    except ValueError:
        return False
