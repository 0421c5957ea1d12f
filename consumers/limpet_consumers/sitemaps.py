"""Sitemaps (sitemaps.org): pages of their own kind, whose answer is a list of pages and of further sitemaps."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from ada_url import join_url

from limpet_consumers.http import Response
from limpet_consumers.runtime import SiteRuntime
from limpet_consumers.sitemap_reader import Listed, NotRead, read
from limpet_store import failures, listed
from limpet_store.admission import Discovery, discovery
from limpet_store.attempts import Attempt
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected
from limpet_store.items import Link
from limpet_store.outcome import Kind, Outcome
from limpet_store.scope import OUT_OF_SCOPE, Scope

MOST_LEVELS = 5  # of sitemaps that name sitemaps; the protocol knows two
PRIORITY = 1  # before pages: they say what there is


def outcome(attempt: Attempt, response: Response, site: SiteRuntime, scope: Scope) -> Outcome:
    """What came of a sitemap that was answered with 2xx."""
    try:
        entries = read(response.body, site.knobs.max_sitemap)
    except NotRead as error:
        kind = Kind.DEAD if error.final else Kind.RETRY
        return Outcome(
            attempt=attempt, kind=kind, status=response.status, reason=failures.UNREADABLE, error=str(error),
            jitter=random.random(),
        )  # fmt: skip
    size = scope.size  # before it is asked: it may grow meanwhile
    found, dropped = leads(entries, attempt, site, scope)
    return Outcome(
        attempt=attempt, kind=Kind.DONE, status=response.status, discoveries=found, dropped=dropped,
        scope=size if OUT_OF_SCOPE in dropped else None,
    )  # fmt: skip


def leads(
    entries: Sequence[Listed], attempt: Attempt, site: SiteRuntime, scope: Scope
) -> tuple[list[Discovery], dict[str, int]]:
    """The pages and sitemaps that become rows, each once, and a count of the others by reason.

    A page must be in scope and have a handler; it counts as one link from a seed, however deep its sitemap. A sitemap
    may also be on the host of the one that names it, which was let in: a robots.txt may name sitemaps elsewhere.
    """
    page = attempt.page
    own = admit(page.canonical).authority
    found: dict[str, Discovery] = {}
    dropped: Counter[str] = Counter()
    for entry in entries:
        try:
            address = scope.admit(_absolute(page.canonical, entry.url))
        except URLRejected as error:
            dropped[error.reason] += 1
            continue
        handler, is_page = None, entry.kind == "page"
        if address not in scope and (is_page or address.authority != own):
            dropped[OUT_OF_SCOPE] += 1
        elif is_page and (against := scope.bounds.against(address.canonical, 1)):
            dropped[against] += 1
        elif is_page and (handler := site.match(address.canonical)) is None:
            dropped["no handler"] += 1
        elif not is_page and page.depth >= MOST_LEVELS:
            dropped["sitemaps too deep"] += 1
        else:
            code = f"{handler}:{site.code(handler)}" if is_page and site.lastmod else None
            link = Link(
                address.url,
                kind=entry.kind,
                lastmod=moment(entry.lastmod),
                priority=0 if is_page else PRIORITY,
            )
            new = discovery(link, address, parent=page.id, depth=1 if is_page else page.depth + 1, code=code)
            found.setdefault(new.key, new)
    return list(found.values()), dict(dropped)


def named(urls: Sequence[str], origin: str, parent: int, scope: Scope) -> list[Discovery]:
    """The sitemaps that a robots.txt names, on whatever host (cross-submission); /sitemap.xml if it names none."""
    found: dict[str, Discovery] = {}
    for url in urls or ("/sitemap.xml",):
        try:
            address = scope.admit(_absolute(origin, url))
        except URLRejected:
            continue
        link = Link(address.url, kind="sitemap", priority=PRIORITY)
        # Not at depth 0: where it redirects to must not widen the scope.
        found.setdefault(address.canonical, discovery(link, address, parent=parent, depth=1))
    return list(found.values())


def _absolute(base: str, url: str) -> str:
    """The protocol wants absolute URLs; where it is not heeded, it is clear what is meant."""
    if url.startswith(("http://", "https://")):
        return url
    try:
        return str(join_url(base, url)) if url else ""
    except ValueError:
        raise URLRejected(url, "not a URL") from None


def moment(text: str) -> str | None:
    """A lastmod as it is kept: a W3C date or time as it was written, or an RSS date in that form; None for all else."""
    if not text or len(text) > 40:
        return None
    try:
        plain = text if text[:4].isdigit() else parsedate_to_datetime(text).isoformat()
        listed.ends(plain)
    except (ValueError, TypeError, OverflowError):
        return None
    return plain
