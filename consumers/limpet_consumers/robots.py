"""robots.txt (RFC 9309): fetched as a page of its own kind, its rules kept with the host, parsed once a worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ada_url import join_url
from protego import Protego

from limpet_consumers.http import FetchFailed, Http, Request, Response
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected

MOST_BYTES = 500 * 1024  # what is read of it; the RFC's own limit
MOST_REDIRECTS = 5
LONGEST_DELAY = 60.0  # seconds; a longer Crawl-delay is taken as this
OPEN_HEADERS = frozenset({"user-agent", "accept", "accept-encoding"})
BOM = b"\xef\xbb\xbf"


class RobotsCache:
    """The parsed rules of the hosts that this worker has met, by when they were fetched."""

    def __init__(self, user_agent: str, load: Callable[[int], str | None], *, obey: bool = True) -> None:
        self._agent = user_agent
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


def rules_text(body: bytes) -> str:
    """The rules as text: the first 500 KiB, without a BOM, which would hide the first line."""
    return body[:MOST_BYTES].removeprefix(BOM).decode("utf-8", "replace").replace("\0", "")


def allows(rules: str, url: str, user_agent: str) -> bool:
    """Whether these rules let this agent fetch the URL."""
    return bool(Protego.parse(rules).can_fetch(url, user_agent))


def sitemaps(rules: str) -> list[str]:
    """The URLs of sitemaps that these rules name, as written."""
    return [url.strip() for url in Protego.parse(rules).sitemaps if url.strip()]


def crawl_delay(rules: str, user_agent: str) -> int:
    """The Crawl-delay for this agent in milliseconds, capped; 0 where there is none."""
    delay = Protego.parse(rules).crawl_delay(user_agent)
    return round(min(float(delay), LONGEST_DELAY) * 1000) if delay and delay > 0 else 0


def fetch(http: Http, request: Request, deadline: float) -> Response:
    """The robots.txt itself, its first 500 KiB, after up to five redirects, which RFC 9309 wants followed, to
    other hosts too.

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
            request = _redirected(request, location)
        except (URLRejected, ValueError):
            break
        except FetchFailed as error:
            if not error.final:
                raise
            break
    return Response(request.url, 404, {}, b"")


def _redirected(request: Request, location: str) -> Request:
    """The request that follows; to another origin no header goes along that may be a secret of this one's.
    Raises URLRejected and ValueError."""
    old, new = admit(request.url), admit(join_url(request.url, location))
    if (old.scheme, old.name, old.port) == (new.scheme, new.name, new.port):
        return replace(request, url=new.canonical)
    headers = {name: value for name, value in request.headers.items() if name.lower() in OPEN_HEADERS}
    return Request(new.canonical, headers=headers, most=request.most)
