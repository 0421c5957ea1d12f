"""What the consumers need of a site: they are handed this and never import the front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from limpet_store.items import Extracted, Fetched
from limpet_store.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """The engine's settings; seconds unless the name says otherwise. Users change them with `site.tune()`."""

    lease: float = 20.0  # how long a page is a worker's own without renewal
    max_attempts: int = 5  # retryable outcomes before a page is dead
    max_lost: int = 10  # attempts that vanished with their worker before a page is dead
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    total_timeout: float = 60.0  # one request, redirects and slow bodies included
    max_body: int = 10_000_000  # bytes after decoding
    unframed: bool = False  # accept bodies that only the end of the connection ends: cut ones look the same
    max_links: int = 10_000  # per page; more is a failure of the page, never fewer links
    max_sitemap: int = 50_000  # URLs in one sitemap, the protocol's limit; more is a failure, never fewer
    group: int = 4  # pages a worker attempts in one transaction where the host has no delay
    threads: int = 0  # fetches at a time in one worker; 0: by measured latency, at most 64
    slice: float = 30.0  # length of one RQ job
    time_scale: float = 1.0  # multiplies retry, block and rest times; for tests
    turn_limit: float = 120.0  # a turn that takes longer ends the process, with its traceback


class SiteRuntime(Protocol):
    """A site as the engine sees it. Implemented by `limpet.Site`."""

    @property
    def name(self) -> str: ...
    @property
    def knobs(self) -> Knobs: ...
    @property
    def delay(self) -> float | None:
        """Seconds from start to start on a host; None: 1 s on public hosts, none on loopback and private ones."""

    @property
    def max_in_flight(self) -> int: ...
    @property
    def allow_private(self) -> bool: ...
    @property
    def robots(self) -> bool:
        """Whether robots.txt is fetched and obeyed."""

    @property
    def sitemaps(self) -> bool | Sequence[str]:
        """True: those that each host's robots.txt names are read."""

    @property
    def lastmod(self) -> bool:
        """Whether what sitemaps say of a page's last change decides when it is due."""

    @property
    def user_agent(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str | Secret]: ...
    @property
    def hosts(self) -> frozenset[str]:
        """Authorities (`name` or `name:port`) in scope besides those of the seeds."""

    @property
    def authorities(self) -> frozenset[str]:
        """Every authority that the site file names: of the seeds, and `hosts`."""

    def match(self, url: str) -> str | None:
        """The name of the handler whose pattern fits this canonical URL, or None."""

    def code(self, handler: str | None) -> str:
        """A hash of the handler's code, "" for None; it changes when the code does."""

    def codes(self) -> Mapping[str, str]:
        """Handler name to code hash, for all handlers."""

    def extract(self, page: Fetched) -> Extracted:
        """Run the handler. Raises ExtractError when the page cannot be read or the handler fails."""
