"""Put pages in: seeds, and the URLs that somebody asks for. A known page is a no-op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from limpet_store.admission import Discovery, HostRules, Scope, discovery
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected
from limpet_store.items import Link
from limpet_store.store import Store

CHUNK = 1_000  # URLs in one transaction


@dataclass(slots=True)
class Enqueued:
    """What became of the URLs. `rejected` holds (URL, reason)."""

    new: int = 0
    known: int = 0
    rejected: list[tuple[str, str]] = field(default_factory=list)


def seeds(store: Store, wanted: Iterable[str | Link], rules: HostRules, *, now: int) -> Enqueued:
    """Add the seeds, in transactions of up to 1,000; their hosts are in scope from now on. A seed that is no URL raises
    URLRejected."""
    result = Enqueued()
    for chunk in _chunks(Link(each) if isinstance(each, str) else each for each in wanted):
        found = [discovery(link, admit(link.url), parent=None, depth=0, widens=True) for link in chunk]
        new = store.enqueue(found, rules, now=now, why="first")
        result.new += new
        result.known += len({d.key for d in found}) - new
    return result


def links(store: Store, wanted: Iterable[Link], scope: Scope, rules: HostRules, *, now: int) -> Enqueued:
    """Add pages in transactions of up to 1,000; what is out of scope or malformed is rejected with the reason.

    Who made them has seen to it that they can be stored. They count as one link away from a seed: where they redirect
    to does not widen the scope.
    """
    result = Enqueued()
    for chunk in _chunks(wanted):
        found: dict[str, Discovery] = {}
        for link in chunk:
            try:
                page = _page(link, scope)
                found.setdefault(page.key, page)
            except URLRejected as error:
                result.rejected.append((link.url, error.reason))
        new = store.enqueue(list(found.values()), rules, now=now, why="enqueued")
        result.new += new
        result.known += len(found) - new
    return result


def _page(link: Link, scope: Scope) -> Discovery:
    address = admit(link.url)
    if address not in scope:
        raise URLRejected(link.url, "out of scope")
    return discovery(link, address, parent=None, depth=1)


def _chunks(wanted: Iterable[Link]) -> Iterator[list[Link]]:
    source = iter(wanted)
    while chunk := list(islice(source, CHUNK)):
        yield chunk
