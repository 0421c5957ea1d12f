"""Which links become pages: scope, and the facts of a host that is seen for the first time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from limpet_store.canonical import DEFAULT_PORTS, Address, admit, is_private
from limpet_store.content import canonical_json
from limpet_store.database import Database
from limpet_store.errors import URLRejected
from limpet_store.items import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """What the site says about hosts. `delay` None: 1 s on public hosts, none on loopback and private ones."""

    delay: float | None = None
    max_in_flight: int = 1
    robots: bool = True

    def delay_ms(self, address: Address) -> int:
        if self.delay is not None:
            return round(self.delay * 1000)
        return 0 if is_private(address.name) else 1000

    def limit(self, address: Address) -> int:
        """Requests in flight at a time; 0 is no limit, the default where there is no delay."""
        return self.max_in_flight if self.delay_ms(address) or self.max_in_flight > 1 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """A page to be, ready for its row: validated and encoded before any transaction begins."""

    address: Address
    handler: str | None = None
    data: str | None = None
    priority: int = 0
    parent: int | None = None
    depth: int = 0
    hops: int = 0
    widens: bool = False  # its host joins the scope: a seed, or where a seed redirects to
    kind: str = "page"

    @property
    def key(self) -> str:
        return self.address.canonical


class Scope:
    """The authorities whose pages are visited: the site's `hosts`, and those of seeds and their redirects."""

    def __init__(self, db: Database, extra: Iterable[str] = ()) -> None:
        self._db = db
        self._extra = frozenset(extra)
        self._found: frozenset[str] = frozenset()
        self.reload()

    def reload(self) -> None:
        """Read again which hosts are in scope; another worker may have widened it."""
        rows = self._db.rows("SELECT scheme, name, port FROM hosts WHERE scope = 1")
        self._found = frozenset(n if p == DEFAULT_PORTS[s] else f"{n}:{p}" for s, n, p in rows)

    def __contains__(self, address: Address) -> bool:
        return address.authority in self._found or address.authority in self._extra


def discover(
    links: Collection[Link], scope: Scope, *, parent: int, depth: int, home: str
) -> tuple[list[Discovery], dict[str, int]]:
    """The links that become pages, each once, and a count of the others by reason.

    `home` is the canonical URL of the page they are on; its own host is in scope, since the page was let in.
    """
    own = admit(home).authority if links else ""
    found: dict[str, Discovery] = {}
    dropped: dict[str, int] = {}
    for link in links:
        try:
            address = admit(link.url)
            reason = "" if address.authority == own or address in scope else "out of scope"
        except URLRejected as error:
            reason = error.reason
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
            continue
        if address.canonical not in found:
            found[address.canonical] = Discovery(
                address=address,
                handler=link.to,
                data=None if link.data is None else canonical_json(link.data),
                priority=link.priority,
                parent=parent,
                depth=depth,
            )
    return list(found.values()), dropped
