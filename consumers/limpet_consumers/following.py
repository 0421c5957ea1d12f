"""Redirects that are followed within a page's lease: back to the same page, and on a site that asks for it.

A redirect is an outcome otherwise (`redirects.outcome`): its target is a page with a lease, a robots check and a slot
of its own. Two kinds are not. One to the same canonical URL leads to no other page: a site sets a cookie and looks
whether it comes back, or adds a parameter that the site's rules drop. And with `Site(follow="inline")` each redirect
on the page's own host is part of it, for sites that keep a session between the hops.

No hop is free: each waits for the host's delay and obeys robots.txt and the scope, and the host's next slot comes a
delay after the last one. Cookies go from hop to hop and no further.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from limpet_consumers.asking import Asked, Asking, over
from limpet_consumers.bounce import Cookies
from limpet_consumers.http import FetchFailed, Http, Request, Response
from limpet_consumers.redirects import MOST_HOPS, REDIRECTS, becomes_get, target
from limpet_store import failures
from limpet_store.attempts import PageRow
from limpet_store.canonical import Address, admit
from limpet_store.errors import URLRejected
from limpet_store.scope import Scope

CONDITIONS = ("If-None-Match", "If-Modified-Since")
MOST_BACK = 5  # hops back to the same URL

# Whether robots.txt lets a page go: (host id, when its rules were fetched, URL) -> allowed. See `attempts.Allowed`.
Allowed = Callable[[int, int | None, str], bool]


@dataclass(frozen=True, slots=True)
class Answer:
    """The last response to a page's requests. `url` is what it answers, `hops` how many requests came before it, and
    `asked_at` when it was asked for (ms, the frontier's time)."""

    response: Response
    url: str
    hops: int = 0
    asked_at: int | None = None


class Following:
    """Fetches the pages of one site. `inline`: redirects on a page's own host are followed within its lease."""

    def __init__(
        self,
        http: Http,
        asking: Asking,
        scope: Scope,
        allowed: Allowed,
        now: Callable[[], int],
        *,
        inline: bool,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._http = http
        self._asking = asking
        self._scope = scope
        self._allowed = allowed
        self._now = now
        self._inline = inline
        self._pause = pause

    def answer(self, page: PageRow, request: Request, deadline: float) -> Answer:
        """What the page's request, and those that redirects ask for, come to within `deadline` seconds in all. Raises
        FetchFailed."""
        began = time.monotonic()
        until = began + deadline
        asked, cookies, back = Asked.of(page), None, 0
        got = Answer(self._http.fetch(request, deadline), page.canonical)
        while got.response.status in REDIRECTS and (to := self._leads(page, got)):
            back += to.canonical == page.canonical
            if back > MOST_BACK or got.hops >= MOST_HOPS:
                raise FetchFailed("redirects without end", host=False, kind=failures.REDIRECT)
            cookies = cookies or Cookies(request)
            cookies.keep(got.url, got.response)
            if becomes_get(asked.method, got.response.status):
                asked = replace(asked, method="GET", body=None)
            self._wait(began + page.delay / 1000, until)
            began = time.monotonic()
            asked = replace(asked, url=admit(to.url).canonical)  # nothing dropped: the site may look for it
            got = self._hop(asked, request, cookies, until - began, got.hops + 1)
        return got

    def _leads(self, page: PageRow, got: Answer) -> Address | None:
        """Where the answer leads, if that is followed within the lease."""
        try:
            to = target(page, got.url, got.response, self._scope)
        except URLRejected:
            return None
        if to is None or page.kind == "robots" or not self._allowed(page.host, page.robots_at, to.url):
            return None
        if to.canonical == page.canonical and not becomes_get(page.method, got.response.status):
            return to
        home = admit(page.canonical)
        inline = (
            self._inline
            and page.kind == "page"
            and (to.scheme, to.authority) == (home.scheme, home.authority)
        )
        if not inline or self._scope.bounds.against(to.canonical, 0):
            return None
        return to

    def _hop(self, asked: Asked, first: Request, cookies: Cookies, deadline: float, hops: int) -> Answer:
        """The answer to the next request: it has the cookies of those before it, and is as conditional as the first."""
        kept = {name: first.headers[name] for name in CONDITIONS if name in first.headers}
        request = self._asking.request(asked, kept)
        said = cookies.for_(request)
        headers = over(request.headers, {"Cookie": said}) if said else request.headers
        at = self._now()
        try:
            response = self._http.fetch(replace(request, headers=headers, most=first.most), deadline)
        except FetchFailed as error:
            error.asked_at = at
            raise
        return Answer(response, asked.url, hops, at)

    def _wait(self, start: float, until: float) -> None:
        """Wait for the host's delay. Raises FetchFailed where the deadline comes first."""
        if start >= until:
            why = "the host's delay leaves no time to follow its redirect"
            raise FetchFailed(why, host=False, kind=failures.TIME_OUT)
        if (left := start - time.monotonic()) > 0:
            self._pause(left)
