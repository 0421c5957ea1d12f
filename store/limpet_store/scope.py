"""What is in scope: the hosts whose pages are visited, and the rules for their URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from limpet_store.canonical import DEFAULT_PORTS, Address, Drop, admit
from limpet_store.database import Database
from limpet_store.dropping import SESSION_IDS, Dropping
from limpet_store.traps import trap

OUT_OF_SCOPE, TOO_DEEP, EXCLUDED, NOT_INCLUDED = "out of scope", "too deep", "excluded", "not included"
ANY = "*."  # begins what stands for all names below another
_SESSIONS = Dropping(SESSION_IDS)

Fits = Callable[[str], bool]


class Hosts:
    """Authorities (`name` or `name:port`); `*.shop.example` stands for every name below it."""

    def __init__(self, names: Iterable[str]) -> None:
        given = frozenset(names)
        self._below = tuple(name[1:] for name in given if name.startswith(ANY))
        self._names = frozenset(name for name in given if not name.startswith(ANY))

    def __contains__(self, authority: str) -> bool:
        return authority in self._names or authority.endswith(self._below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a site says of URLs, besides the hosts. The default lets everything in but traps.

    `drop` takes a canonical URL and gives it without the parameters that tell no pages apart. `included` and
    `excluded` tell of a canonical URL whether it fits one of the site's patterns. `max_depth` is in links from a seed;
    with `depth_first` each of them counts as a priority of 1. `said` is all that the site says of scope, as a text
    that changes with it.
    """

    drop: Drop | None = _SESSIONS
    included: Fits | None = None
    excluded: Fits | None = None
    max_depth: int | None = None
    traps: bool = True
    depth_first: bool = False
    said: str = ""

    def admit(self, url: str) -> Address:
        """The URL as a page of this site. Raises URLRejected."""
        return admit(url, self.drop)

    def against(self, url: str, depth: int) -> str:
        """Why a page of this canonical URL is not for this crawl, as the word it is counted under; else ""."""
        if self.max_depth is not None and depth > self.max_depth:
            return TOO_DEEP
        return self.against_named(url) or (trap(url) if self.traps else "")

    def against_named(self, url: str) -> str:
        """The same for one that a user asks for: it may be deep, or look like a trap."""
        if self.included is not None and not self.included(url):
            return NOT_INCLUDED
        return self.against_entry(url)

    def against_entry(self, url: str) -> str:
        """The same for a seed, and for where one redirects to: what it leads to may be all that is wanted."""
        return EXCLUDED if self.excluded is not None and self.excluded(url) else ""


EVERYTHING = Bounds()


class Scope:
    """The authorities whose pages are visited: the site's `hosts`, and those of seeds and their redirects; and the
    site's rules for URLs."""

    size = 0  # how many hosts the store has in scope

    def __init__(self, db: Database, extra: Iterable[str] = (), bounds: Bounds = EVERYTHING) -> None:
        self._db = db
        self._extra = Hosts(extra)
        self._found: frozenset[str] = frozenset()
        self.bounds = bounds
        self.reload()

    def reload(self) -> None:
        """Read again which hosts are in scope; another worker may have widened it."""
        rows = self._db.rows("SELECT scheme, name, port FROM hosts WHERE scope = 1")
        self.size = len(rows)
        self._found = frozenset(n if p == DEFAULT_PORTS[s] else f"{n}:{p}" for s, n, p in rows)

    def __contains__(self, address: Address) -> bool:
        authority = address.authority
        return authority in self._found or authority in self._extra

    def admit(self, url: str) -> Address:
        """The URL as a page of this site. Raises URLRejected."""
        return self.bounds.admit(url)
