"""What the consumers need of a site: they are handed this and never import the front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from limpet_store.items import Extracted, Fetched
from limpet_store.periods import Periods
from limpet_store.scope import Bounds
from limpet_store.secret import Secret

if TYPE_CHECKING:
    import requests

    from limpet_consumers.http import Http


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
    max_elements: int = 250_000  # per page, before it is parsed: each costs 100 to 400 bytes
    max_sitemap: int = 50_000  # URLs in one sitemap, the protocol's limit; more is a failure, never fewer
    group: int = 4  # pages a worker attempts in one transaction where the host has no delay
    threads: int = 0  # fetches at a time in one worker; 0: by measured latency, at most 64
    slice: float = 30.0  # length of one RQ job: a work-horse lives no longer
    slice_pages: int = 0  # and visits no more pages than these; 0: any number
    max_memory: int = (
        1_000  # MB that a work-horse may hold; looked at once a second, one that holds more is replaced
    )
    time_scale: float = 1.0  # multiplies retry, block and rest times; for tests
    turn_limit: float = 120.0  # a turn that takes longer ends the process, with its traceback


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The way out of this machine. `named_by` is who named the proxy, for messages: its URL may hold a password."""

    proxy: str | Secret | None = None
    named_by: str = "the site (proxy=)"
    ca_bundle: str | None = None  # the authorities to trust instead of the usual ones: a file or folder


@dataclass(frozen=True, slots=True)
class Account:
    """A site that wants a login: how it is done, and how a page shows that it is not. Either may be missing.

    `login` gets the worker's new session; it has failed when it raises or returns False. `logged_out` raises
    ExtractError when it fails.
    """

    login: Callable[[Any], object] | None
    logged_out: Callable[[Fetched], bool] | None


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
    def follow(self) -> str:
        """ "page": a redirect leads to a page of its own; "inline": on its own host it is followed within the lease."""

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
    def cookies(self) -> Mapping[str, str | Secret]:
        """For the hosts that the site file names, and for no others."""

    @property
    def session(self) -> Callable[[], requests.Session] | None:
        """Makes the session that requests go through."""

    @property
    def transport(self) -> Callable[[], Http] | None:
        """Makes what takes the place of our transport."""

    @property
    def network(self) -> Network: ...
    @property
    def account(self) -> Account | None: ...
    @property
    def hosts(self) -> frozenset[str]:
        """Authorities (`name`, `name:port` or `*.name`) in scope besides those of the seeds."""

    @property
    def bounds(self) -> Bounds:
        """The site's rules for URLs."""

    @property
    def max_pages(self) -> int | None:
        """How many pages of one host there may be."""

    @property
    def authorities(self) -> frozenset[str]:
        """Every authority that the site file names: of the seeds, and `hosts`."""

    def match(self, url: str) -> str | None:
        """The name of the handler whose pattern fits this canonical URL, or None."""

    def complete(self, handler: str | None) -> bool:
        """Whether the handler gives all records that a page has; False for None."""

    @property
    def periods(self) -> Periods | None:
        """When pages are due again by themselves; None where none are."""

    def leads(self, handler: str | None) -> bool:
        """Whether the handler may give links; False for None."""

    def code(self, handler: str | None) -> str:
        """A hash of the handler's code, "" for None; it changes when the code does."""

    def codes(self) -> Mapping[str, str]:
        """Handler name to code hash, for all handlers."""

    def extract(self, page: Fetched) -> Extracted:
        """Run the handler. Raises ExtractError when the page cannot be read or the handler fails."""
