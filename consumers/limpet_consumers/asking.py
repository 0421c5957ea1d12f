"""What is sent for a page: its URL, and the headers of the site and of the page, secrets put in at the last moment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote_plus

from limpet_consumers.headers import one_line
from limpet_consumers.http import FetchFailed, Request
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.unpacking import UNDERSTOOD
from limpet_store import failures
from limpet_store.attempts import PageRow
from limpet_store.canonical import admit, is_private
from limpet_store.errors import UsageError
from limpet_store.secret import Secret, SecretMissing, revealed, stored

PLAIN: Mapping[str, str] = MappingProxyType({})
_KEY = re.compile("auth|cookie|token|secret|session|credential|api-?key", re.I)
ALWAYS = {"Accept-Encoding": UNDERSTOOD, "Accept": "*/*", "Connection": "keep-alive"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a page decides how it is asked for."""

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: str | None = None  # JSON, as it is stored
    query: str | None = None

    @classmethod
    def of(cls, page: PageRow) -> Asked:
        return cls(page.canonical, page.method, page.body, page.headers, page.query)


class Asking:
    """Makes the requests of one site. Raises UsageError when a secret of its headers cannot be sent."""

    def __init__(self, site: SiteRuntime) -> None:
        self._site = site
        own = own_headers(site)
        always = ALWAYS | {"User-Agent": site.user_agent}
        self._headers = over(always, own)
        told = {name: value for name, value in own.items() if not is_private_header(name, site.headers[name])}
        self._abroad = self._headers if len(told) == len(own) else over(always, told)

    def request(self, asked: Asked, validators: Mapping[str, str] = PLAIN) -> Request:
        """The request for a page; the headers `validators` make it conditional. Raises FetchFailed when a secret is not
        there."""
        private = may_be_private(self._site, asked.url)
        headers = self._headers if self._abroad is self._headers or self._is_home(asked.url) else self._abroad
        if validators:
            headers = {**headers, **validators}
        if asked.headers is None and asked.query is None:
            return Request(asked.url, asked.method, asked.body, headers, private)
        try:
            headers = over(headers, revealed(json.loads(asked.headers or "{}")))
            url = with_query(asked.url, revealed(json.loads(asked.query or "{}")))
        except SecretMissing as error:
            raise FetchFailed(str(error), host=False, kind=failures.TRANSPORT) from None
        if bad := not_one_line(headers):
            raise FetchFailed(bad, host=False, kind=failures.TRANSPORT)
        return Request(url, asked.method, asked.body, headers, private)

    def _is_home(self, url: str) -> bool:
        """Whether the site file names the host, as a seed or in `hosts`."""
        return admit(url).authority in self._site.authorities


def is_private_header(name: str, value: str | Secret) -> bool:
    """Whether a header of the site is for the hosts that the site file names alone: it may be a key to them."""
    return isinstance(value, Secret) or bool(_KEY.search(name))


def may_be_private(site: SiteRuntime, url: str) -> bool:
    """Whether the peer may be on this machine or a private network. A private address that the site file itself
    names, as a seed or in `hosts`, is allowed; one that a page or a redirect leads to is not, in scope or not."""
    if site.allow_private:
        return True
    address = admit(url)
    return is_private(address.name) and address.authority in site.authorities


def over(headers: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """`own` put over `headers`, whatever the case of their names."""
    names = {name.lower() for name in own}
    return {name: value for name, value in headers.items() if name.lower() not in names} | dict(own)


def with_query(url: str, added: Mapping[str, str]) -> str:
    """The URL with parameters added."""
    if not added:
        return url
    pairs = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in added.items())
    return f"{url}{'&' if '?' in url else '?'}{pairs}"


def own_headers(site: SiteRuntime) -> dict[str, str]:
    """The headers that the site file sets, as they are sent. Raises UsageError, without a value in it."""
    found = revealed({name: stored(value) for name, value in site.headers.items()})
    if bad := not_one_line(found):
        raise UsageError(bad)
    return found


def not_one_line(headers: Mapping[str, str]) -> str:
    """What is wrong with the first header that cannot be sent, "" when all can; of a secret nothing shows before."""
    bad = next((name for name, value in headers.items() if not one_line(value)), None)
    return (
        ""
        if bad is None
        else f"header {bad}: its secret is not one line of ASCII (is there a line end in it?)"
    )
