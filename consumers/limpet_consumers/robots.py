"""robots.txt (RFC 9309): fetched as a page of its own kind, its rules kept with the host, parsed once a worker."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ada_url import join_url
from protego import Protego

from limpet_consumers.http import FetchFailed, Http, Request, Response
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected

MOST_BYTES = 500 * 1024  # what is read of it; the RFC's own limit
MOST_REDIRECTS = 5
LONGEST_DELAY = 60  # seconds; a longer Crawl-delay is taken as this
OPEN_HEADERS = frozenset({"user-agent", "accept", "accept-encoding"})
CONTACT = re.compile(r"\S*(://|@)\S*")  # in a User-Agent: how to reach somebody, which is nobody's name
BOMS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class RobotsCache:
    """The parsed rules of the hosts that this worker has met, by when they were fetched."""

    def __init__(self, user_agent: str, load: Callable[[int], str | None], *, obey: bool = True) -> None:
        self._agent = named(user_agent)
        self._load = load
        self._obey = obey
        self._rules: dict[int, tuple[int, Protego]] = {}

    def warm(self, host: int, fetched_at: int | None) -> None:
        """Parse the host's rules now rather than inside a transaction, if they are new."""
        if self._obey and fetched_at is not None and self._rules.get(host, (0,))[0] != fetched_at:
            self._rules[host] = (fetched_at, Protego.parse(self._load(host) or ""))

    def allowed(self, host: int, fetched_at: int | None, url: str) -> bool:
        """Whether the host's rules let this URL be fetched. Unknown rules forbid nothing here: the frontier
        hands out no other page of such a host."""
        if not self._obey or fetched_at is None:
            return True
        self.warm(host, fetched_at)
        return bool(self._rules[host][1].can_fetch(url, self._agent))


def named(user_agent: str) -> str:
    """A User-Agent by which its group is looked for: its product tokens, without a contact's URL or address."""
    return CONTACT.sub("", user_agent)


def rules_text(body: bytes) -> str:
    """The rules as text: the first 500 KiB, without a BOM, which would hide the first line.

    It is UTF-8 (RFC 9309 2.2), or what its BOM says. Without the NULs UTF-16 that has none can be read as well. What
    is no robots.txt at all (a page in HTML, an image) has no rules, and so forbids nothing.
    """
    body = body[:MOST_BYTES]
    mark, encoding = next(((m, name) for m, name in BOMS.items() if body.startswith(m)), (b"", "utf-8"))
    return body.removeprefix(mark).decode(encoding, "replace").replace("\0", "")


def allows(rules: str, url: str, user_agent: str) -> bool:
    """Whether these rules let this agent fetch the URL."""
    return bool(Protego.parse(rules).can_fetch(url, named(user_agent)))


def sitemaps(rules: str) -> list[str]:
    """The URLs of sitemaps that these rules name, as written."""
    return [url.strip() for url in Protego.parse(rules).sitemaps if url.strip()]


def crawl_delay(rules: str, user_agent: str) -> int:
    """What Crawl-delay or Request-rate ask of this agent in milliseconds, the longer of them, capped; 0 where neither
    does. A value that is no number above 0 asks for nothing, and the hours of a rate are left out: it holds always."""
    parsed, agent = Protego.parse(rules), named(user_agent)
    rate = parsed.request_rate(agent)
    asked = [parsed.crawl_delay(agent) or 0.0]
    if rate:
        asked.append(min(rate.seconds, LONGEST_DELAY * rate.requests) / rate.requests)
    return round(max(0.0, min(max(asked), LONGEST_DELAY)) * 1000)


def fetch(
    http: Http, request: Request, deadline: float, may_be_private: Callable[[str], bool] = lambda url: False
) -> Response:
    """The robots.txt itself, its first 500 KiB, after up to five redirects, which RFC 9309 wants followed, to
    other hosts too: `may_be_private` says which of those may be on this machine or a private network.

    One that leads to what may never be fetched (a private peer, not http) is answered as a 404: it can be taken
    as unavailable (2.3.1.2), and a private host's pages fail by themselves. Raises FetchFailed for what may pass.
    """
    request = replace(request, most=MOST_BYTES)
    for _ in range(MOST_REDIRECTS + 1):
        try:
            response = http.fetch(request, deadline)
            location = response.headers.get("location")
            if response.status not in (301, 302, 303, 307, 308) or not location:
                return response
            request = _redirected(request, location, may_be_private)
        except (URLRejected, ValueError):
            break
        except FetchFailed as error:
            if not error.final:
                raise
            break
    return Response(request.url, 404, {}, b"")


def _redirected(request: Request, location: str, may_be_private: Callable[[str], bool]) -> Request:
    """The request that follows; to another origin no header goes along that may be a secret of this one's.
    Raises URLRejected and ValueError."""
    old, new = admit(request.url), admit(join_url(request.url, location))
    if (old.scheme, old.name, old.port) == (new.scheme, new.name, new.port):
        return replace(request, url=new.canonical)
    headers = {name: value for name, value in request.headers.items() if name.lower() in OPEN_HEADERS}
    private = may_be_private(new.canonical)
    return Request(new.canonical, headers=headers, private=private, most=request.most)
