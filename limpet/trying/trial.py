"""What came of a page that was tried, and the row that it would have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from limpet.trying.watching import Watched
from limpet_consumers.http import Response
from limpet_store.admission import Discovery
from limpet_store.attempts import PageRow
from limpet_store.canonical import admit
from limpet_store.content import canonical_json
from limpet_store.items import JSON, Extracted, Fetched
from limpet_store.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Kept:
    """A link that becomes a page, and the handler that will read it, if any."""

    page: Discovery
    handler: str | None
    allowed: bool


@dataclass(slots=True, kw_only=True)
class Trial:
    """What came of a page. `robots` is a word or a sentence; without an outcome no request was made."""

    row: PageRow
    robots: str
    outcome: Outcome | None = None
    response: Response | None = None
    fetched: Fetched | None = None
    extracted: Extracted = field(default_factory=Extracted)
    page: Watched | None = None
    pattern: str = ""
    fetching: float = 0.0  # seconds
    extracting: float = 0.0
    kept: list[Kept] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(
        default_factory=list
    )  # (URL, reason) of links that lead to no page

    @property
    def url(self) -> str:
        return self.row.canonical

    @property
    def left_out(self) -> Counter[str]:
        """Links that lead to no page, by reason."""
        if self.row.kind == "sitemap":
            return Counter(self.outcome.dropped if self.outcome else ())
        return Counter(self.extracted.dropped) + Counter(reason for _, reason in self.dropped)

    @property
    def handler(self) -> str | None:
        return self.fetched.handler if self.fetched else None


def row_for(
    url: str, *, kind: str = "page", handler: str | None = None, data: JSON = None, **more: Any
) -> PageRow:
    """The row that a page would have. Raises URLRejected."""
    address = admit(url)
    given = {
        "id": 0, "host": 0, "kind": kind, "url": address.url, "canonical": address.canonical, "method": "GET",
        "handler": handler, "data": None if data is None else canonical_json(data), "depth": 0, "hops": 0,
        "priority": 0, "state": "pending", "due_at": 0, "round": 1, "failures": 0, "lost": 0, "open": 0,
        "blocked_until": 0, "paused": 0, "delay": 0, **more,
    }  # fmt: skip
    return PageRow._make(given.get(name) for name in PageRow._fields)


def row_of(page: Discovery) -> PageRow:
    """The row that a discovered page would have."""
    named = {name: getattr(page, name) for name in PageRow._fields if hasattr(page, name)}
    row = row_for(page.address.canonical)
    return row._replace(**{name: value for name, value in named.items() if name != "parent"})
