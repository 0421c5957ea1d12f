"""Put pages in: seeds, and the URLs that somebody asks for. A known page is a no-op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from limpet_store import forgetting, pages
from limpet_store.admission import Discovery, HostRules, discovery
from limpet_store.capacity import TOO_MANY
from limpet_store.errors import URLRejected
from limpet_store.items import Link
from limpet_store.scope import EVERYTHING, OUT_OF_SCOPE, Bounds, Scope
from limpet_store.store import Store

CHUNK = 1_000  # URLs in one transaction


@dataclass(slots=True)
class Enqueued:
    """What became of the URLs. `rejected` holds (URL, reason); of seeds, which may be millions, `left_out` counts the
    reasons."""

    new: int = 0
    known: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def seeds(
    store: Store, wanted: Iterable[str | Link], rules: HostRules, *, now: int, bounds: Bounds = EVERYTHING
) -> Enqueued:
    """Add the seeds, in transactions of up to 1,000; their hosts are in scope from now on. What the site excludes is
    left out. A seed that is no URL raises URLRejected."""
    result = Enqueued()
    for chunk in _chunks(Link(each) if isinstance(each, str) else each for each in wanted):
        found: dict[str, Discovery] = {}
        for link in chunk:
            address = bounds.admit(link.url)
            reason = bounds.against_entry(address.canonical) if link.kind == "page" else ""
            if reason:
                result.left_out[reason] += 1
                continue
            page = discovery(link, address, parent=None, depth=0, widens=True)
            found.setdefault(page.key, page)
        if left := _add(store, found, rules, now, "first", result):
            result.left_out[TOO_MANY] += len(left)
    return result


def links(store: Store, wanted: Iterable[Link], scope: Scope, rules: HostRules, *, now: int) -> Enqueued:
    """Add pages in transactions of up to 1,000, forgotten ones too; what is malformed, out of scope or not wanted by
    the site's patterns is rejected with the reason.

    Who made them has seen to it that they can be stored. They count as one link away from a seed: where they redirect
    to does not widen the scope.
    """
    result = Enqueued()
    for chunk in _chunks(wanted):
        found: dict[str, Discovery] = {}
        given: dict[str, str] = {}  # key -> URL
        for link in chunk:
            try:
                page = _page(link, scope)
            except URLRejected as error:
                result.rejected.append((link.url, error.reason))
                continue
            found.setdefault(page.key, page)
            given.setdefault(page.key, link.url)
        left = _add(store, found, rules, now, "enqueued", result)
        back = forgetting.take_back(store, found, now=now)
        result.new, result.known = result.new + back, result.known - back
        result.rejected += [(given[page.key], TOO_MANY) for page in left]
    return result


def _add(
    store: Store, found: dict[str, Discovery], rules: HostRules, now: int, why: str, result: Enqueued
) -> list[Discovery]:
    """Add the pages; returns those for which there is no room."""
    new = store.enqueue(list(found.values()), rules, now=now, why=why)
    left = pages.unknown(store.db, list(found.values())) if rules.max_pages is not None else []
    result.new += new
    result.known += len(found) - new - len(left)
    return left


def _page(link: Link, scope: Scope) -> Discovery:
    address = scope.admit(link.url)
    if address not in scope:
        raise URLRejected(link.url, OUT_OF_SCOPE)
    if reason := scope.bounds.against_named(address.canonical):
        raise URLRejected(link.url, reason)
    return discovery(link, address, parent=None, depth=1)


def _chunks(wanted: Iterable[Link]) -> Iterator[list[Link]]:
    source = iter(wanted)
    while chunk := list(islice(source, CHUNK)):
        yield chunk
