"""Redirects: where one leads, and what it makes of a page. Which are followed within a lease, `following` says."""

from __future__ import annotations

import json
import random
from functools import partial

from ada_url import join_url

from limpet_consumers.http import Response
from limpet_store import failures
from limpet_store.admission import Discovery, without
from limpet_store.attempts import Attempt, PageRow
from limpet_store.canonical import Address, admit
from limpet_store.content import canonical_json
from limpet_store.errors import URLRejected
from limpet_store.outcome import Kind, Outcome
from limpet_store.scope import OUT_OF_SCOPE, Scope

MOST_HOPS = 10  # redirects that lead to one page
REDIRECTS = frozenset({301, 302, 303, 307, 308})


def becomes_get(method: str, status: int) -> bool:
    """Whether what follows is asked for by GET, without the body: method and body go along with 307 and 308 alone
    (RFC 9110, 15.4)."""
    return method != "GET" and status not in (307, 308)


def target(page: PageRow, base: str, response: Response, scope: Scope) -> Address | None:
    """Where a redirect of `base`, which was asked for in the name of this page, leads; None without a Location. Raises
    URLRejected for what is no page."""
    location = _unmangled(response.headers.get("location", "").strip())
    return scope.admit(_unadded(page.query, _join(base, location))) if location else None


def outcome(attempt: Attempt, response: Response, base: str, scope: Scope) -> Outcome | None:
    """A redirect makes the page an alias and its target a page of its own; None for another status."""
    if response.status not in REDIRECTS:
        return None
    page = attempt.page
    made = partial(Outcome, attempt=attempt, status=response.status, reason=failures.REDIRECT)
    try:
        to = target(page, base, response, scope)
    except URLRejected as error:
        return made(kind=Kind.DEAD, error=f"redirects to a URL: {error.reason}")
    if to is None:
        return made(kind=Kind.RETRY, error="a redirect without Location", jitter=random.random())
    if to.canonical == page.canonical and not becomes_get(page.method, response.status):
        return made(
            kind=Kind.RETRY, error="redirects to itself", jitter=random.random()
        )  # it has no other page's key
    if page.hops >= MOST_HOPS:
        return made(kind=Kind.DEAD, error=f"more than {MOST_HOPS} redirects")
    if reason := _against(page, to, scope):
        return made(kind=Kind.ALIAS, error=to.canonical, dropped={reason: 1})
    return made(kind=Kind.ALIAS, error=to.canonical, discoveries=(_page_of(page, to, response.status),))


def _against(page: PageRow, to: Address, scope: Scope) -> str:
    """Why the target is no page of this crawl, as a link to it would not be; else "". Where a seed leads is in scope
    from then on, and need not fit a pattern."""
    abroad = to.authority != admit(page.canonical).authority and to not in scope
    # Of sitemaps those named by the site file or a robots.txt may be anywhere, and so may what they redirect to.
    if abroad and page.depth > (1 if page.kind == "sitemap" else 0):
        return OUT_OF_SCOPE
    if page.kind != "page":
        return ""
    bounds = scope.bounds
    return bounds.against(to.canonical, 0) if page.depth else bounds.against_entry(to.canonical)


def _page_of(page: PageRow, to: Address, status: int) -> Discovery:
    """The page that a redirect leads to; what may be a secret of one origin does not go to another."""
    method, body = ("GET", None) if becomes_get(page.method, status) else (page.method, page.body)
    home = admit(page.canonical)
    at_home = (home.scheme, home.authority) == (to.scheme, to.authority)
    handed = tuple(canonical_json(value) for value in json.loads(page.data or "[]")) if page.merges else ()
    return Discovery(
        address=to, named=_key_behind(page, to, method), method=method, body=body,
        handler=page.handler, data=page.data,
        headers=page.headers if at_home else None, query=page.query if at_home else None,
        handed=handed, position=bool(page.led), priority=page.priority, parent=page.id, depth=page.depth,
        hops=page.hops + 1, widens=page.depth == 0, kind=page.kind,
    )  # fmt: skip


def _key_behind(page: PageRow, to: Address, method: str) -> str | None:
    """A plain GET is known by its URL, and so is a sitemap. What has a key of its own keeps it, with the number of
    hops."""
    if page.kind == "sitemap":
        return f"sitemap {to.canonical}"
    if page.led or method != "GET" or page.kind != "page":
        return f"{page.key.partition(' -> ')[0]} -> {page.hops + 1}"
    return None


def _unadded(query: str | None, url: str) -> str:
    """The URL without the parameters that were added when the page was sent: a server may say them back."""
    return url if query is None else without(json.loads(query), url)


def _unmangled(location: str) -> str:
    """Raw UTF-8 in a header arrives as latin-1, for that is what HTTP says headers are. Bytes that are no UTF-8 go back
    as they are, percent-encoded, as browsers do."""
    try:
        raw = location.encode("latin-1")
    except UnicodeError:  # from a transport that has decoded it
        return location
    try:
        return raw.decode("utf-8")
    except UnicodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)


def _join(base: str, location: str) -> str:
    try:
        return str(join_url(base, location))
    except ValueError:
        raise URLRejected(location, "not a URL") from None
