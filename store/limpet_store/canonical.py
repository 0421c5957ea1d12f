"""Canonical URLs: the identity of a page, by the WHATWG URL standard.

Scheme and host are folded, default ports dropped, dot segments resolved, IDN and percent-encoding brought to one
form, the fragment dropped. Path and query are never lower-cased, sorted or decoded: `/Product/ABC` and
`/product/abc` are two pages. canonical(canonical(u)) == canonical(u).

Three forms are kept apart. As found (`pages.url`) is what somebody wrote, without its fragment. Canonical
(`pages.canonical`) is the identity of a plain GET, without the parameters that the site's rules drop. As fetched is
the canonical one: what robots.txt is asked about, what is requested and what names the page are the same. It is what
a browser would request, but for the parameters that were dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ada_url import URL

from limpet_store import secret
from limpet_store.addresses import is_public
from limpet_store.errors import URLRejected

CANONICALISER_VERSION = 1  # of what is below; a store says by which its keys were made
MAX_URL = 8_192  # characters
MOST_LABEL, MOST_NAME = 63, 253  # characters of a host's name, as DNS has them
DEFAULT_PORTS = {"http": 80, "https": 443}

# What the standard leaves as it is, but for what `_as_it_is` looks at: most links, at a tenth of the cost.
_PLAIN = re.compile(
    r"(https?)://([a-z0-9_.-]+)(?::([1-9][0-9]{0,4}))?"
    r"/[A-Za-z0-9_~!$&()*+,;=:@/.%-]*(?:\?[A-Za-z0-9_~!$&()*+,;=:@/?.%\[\]|-]*)?"
)
_NAME = re.compile(rf"(?:[a-z0-9_-]{{1,{MOST_LABEL}}}\.)*[a-z0-9_-]{{1,{MOST_LABEL}}}\.?")

_BLANK = "".join(map(chr, range(33)))  # what the standard trims

Drop = Callable[[str], str]


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


def admit(url: str, drop: Drop | None = None) -> Address:
    """The one door for URLs. Raises URLRejected with a short reason for counting; a site may say back a secret that was
    sent to it, and those are not stored.

    `drop` takes a canonical URL and gives it without the parameters that do not tell pages apart.
    """
    if secret.told(url):
        raise URLRejected(secret.hidden(url), "holds a secret")
    if len(url) > MAX_URL:
        raise URLRejected(url[:100] + "...", "too long")
    plain = _as_it_is(url)
    if plain is not None:
        scheme, name, port = plain
        return Address(url, drop(url) if drop else url, scheme, name, port)
    try:
        parsed = URL(url)
    except (ValueError, UnicodeEncodeError):
        raise URLRejected(url, "not a URL") from None
    scheme = parsed.protocol[:-1]
    if scheme not in DEFAULT_PORTS:
        raise URLRejected(url, "not http")
    if parsed.username or parsed.password:
        raise URLRejected(f"{scheme}://...@{parsed.host}{parsed.pathname}", "credentials in URL")
    if not can_be_resolved(parsed.hostname):
        raise URLRejected(url[:200], "no host name")
    canonical = parsed.href.partition("#")[0]
    if len(canonical) > MAX_URL:
        raise URLRejected(url[:100] + "...", "too long")
    port = int(parsed.port) if parsed.port else DEFAULT_PORTS[scheme]
    found = _as_found(url, canonical)
    return Address(found, drop(canonical) if drop else canonical, scheme, parsed.hostname, port)


def _as_it_is(url: str) -> tuple[str, str, int] | None:
    """Scheme, name and port of a URL that is canonical as it stands; None for one that may not be."""
    found = _PLAIN.fullmatch(url)
    if found is None or "/." in url or not _is_plain(found[2]):
        return None
    if "%" in url and "%2e" in url.lower():  # a dot segment may be escaped
        return None
    own = DEFAULT_PORTS[found[1]]
    port = int(found[3]) if found[3] else own
    return None if port > 65_535 or (found[3] and port == own) else (found[1], found[2], port)


@lru_cache(4_096)
def _is_plain(name: str) -> bool:
    try:
        return bool(URL(f"http://{name}/").hostname == name) and can_be_resolved(name)
    except ValueError:
        return False


def can_be_resolved(name: str) -> bool:
    """Whether a host's name (in its ASCII form) may be one: letters, digits, `-`, `_`, and labels and a whole of the
    length that DNS allows; or an address. What is none would be an error anywhere between here and the resolver."""
    if name[:1] == "[":
        return True
    fits = len(name.removesuffix(".")) <= MOST_NAME and _NAME.fullmatch(name) is not None
    return fits and ("xn--" not in name or all(map(_is_label, name.split("."))))


def _is_label(label: str) -> bool:
    """Whether an `xn--` label is what a name that is not ASCII becomes; the parser takes it on trust."""
    if not label.startswith("xn--"):
        return True
    try:
        spelled = label[4:].encode().decode("punycode")
        return not spelled.isascii() and bool(URL(f"http://{spelled}/").hostname == label)
    except (ValueError, OverflowError):
        return False


def _as_found(url: str, canonical: str) -> str:
    """The URL as somebody wrote it; where that cannot be shown, or would be another without its fragment, the canonical
    one."""
    found = url.strip(_BLANK).partition("#")[0]
    return found if found.isprintable() and found[-1] != " " else canonical


def is_private(name: str) -> bool:
    """Whether a host name is, on its face, this machine or a private network."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return not is_public(name.strip("[]"))
    except ValueError:
        return False
