"""Which links become pages, and which pages: identity, scope, the facts of a host that is seen for the first time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import unquote_plus

from limpet_store import secret
from limpet_store.canonical import Address, admit, is_private
from limpet_store.content import canonical_json, content_hash
from limpet_store.errors import URLRejected
from limpet_store.items import Ask, Link
from limpet_store.scope import OUT_OF_SCOPE, Scope
from limpet_store.secret import stored


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRules:
    """What the site says about hosts. `delay` None: 1 s on public hosts, none on loopback and private ones.
    `max_pages` is how many pages of one host there may be; None: any number."""

    delay: float | None = None
    max_in_flight: int = 1
    robots: bool = True
    max_pages: int | None = None

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
    named: str | None = None  # its key, where that is not the canonical URL
    method: str = "GET"
    body: bytes | None = None
    headers: str | None = None
    query: str | None = None
    handler: str | None = None
    data: str | None = None
    handed: tuple[str, ...] = ()  # with values the page collects what its parents hand down
    position: bool = False  # its URL may be replaced; the page that leads to it makes it due
    lastmod: str | None = None
    code: str | None = None  # who would read it now; with it, `lastmod` decides when a known page is due
    priority: int = 0
    parent: int | None = None
    depth: int = 0
    hops: int = 0
    widens: bool = False  # its host joins the scope: a seed, or where a seed redirects to
    kind: str = "page"
    held: str | None = None  # why it is to wait: "sample"

    @property
    def key(self) -> str:
        return self.address.canonical if self.named is None else self.named


def page_key(link: Link, canonical: str) -> str | None:
    """The identity of a page that is not a plain GET of its URL; None for one that is.

    Its own key where it has one, else its method, URL and a hash over what tells requests apart: method, canonical
    URL, canonical body and the headers that vary. A key has a word and a space before it, so it is no URL.
    """
    ask = link.ask
    if link.key is not None:
        return f"key {link.key}"
    if link.kind != "page":
        return f"{link.kind} {canonical}"
    if ask is None or (ask.method == "GET" and not ask.identity and not ask.vary):
        return None
    varied = sorted((name.lower(), stored(ask.headers[name])) for name in ask.vary)
    facts = [ask.method, canonical, ask.identity, varied]
    return f"{ask.method} {canonical} {content_hash(canonical_json(facts))}"


def discovery(
    link: Link,
    address: Address,
    *,
    parent: int | None,
    depth: int,
    widens: bool = False,
    code: str | None = None,
    ahead: int = 0,
) -> Discovery:
    """The page that an admitted link leads to; `ahead` is added to its priority."""
    ask = link.ask or PLAIN
    data = None if link.data is None else canonical_json(link.data)
    handed = (data,) if link.merge and data is not None else ()
    return Discovery(
        address=address,
        named=page_key(link, address.canonical),
        method=ask.method,
        body=ask.body,
        headers=_stored(ask.headers),
        query=_stored(ask.query),
        handler=link.to,
        data=listed(handed) if handed else data,
        handed=handed,
        position=link.position,
        lastmod=link.lastmod,
        code=code,
        priority=link.priority + ahead,
        parent=parent,
        depth=depth,
        widens=widens,
        kind=link.kind,
    )


def chosen(key: str, share: float) -> bool:
    """Whether the page of this key is in a sample of `share` (0 to 1)."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])
    return number < share * 2**64


PLAIN = Ask()


def _stored(values: Mapping[str, object]) -> str | None:
    return canonical_json({name: stored(value) for name, value in values.items()}) if values else None  # type: ignore[arg-type]


def _by_name(link: Link, query: str) -> Link:
    """A link that says back a secret of its page's added parameters, as an API's "next" may: they are added again."""
    if not secret.told(link.url):
        return link
    added = {name: secret.read(value) for name, value in json.loads(query).items()}
    ask = link.ask or PLAIN
    return replace(link, url=without(added, link.url), ask=replace(ask, query=added | dict(ask.query)))


def without(names: Collection[str], url: str) -> str:
    """The URL without these query parameters."""
    path, mark, asked = url.partition("?")
    kept = [pair for pair in asked.split("&") if unquote_plus(pair.partition("=")[0]) not in names]
    return f"{path}?{'&'.join(kept)}" if mark and any(kept) else path


def _text(body: bytes | None) -> str | None:
    return None if body is None else body.decode("utf-8", "replace")


def listed(texts: Iterable[str]) -> str:
    """A JSON list of canonical texts, each once, in an order of its own: it must not depend on who came first."""
    return f"[{','.join(sorted(set(texts)))}]"


def discover(
    links: Collection[Link], scope: Scope, *, parent: int, depth: int, home: str, query: str | None = None
) -> tuple[list[Discovery], dict[str, int]]:
    """The links that become pages, each once, and a count of the others by reason.

    `home` is the canonical URL of the page they are on; its own host is in scope, since the page was let in. `query`
    are parameters that were added when it was sent: a link that says one back goes on with it, by its name.
    """
    ahead = depth if scope.bounds.depth_first else 0
    own, against = admit(home).authority if links else "", scope.bounds.against
    found: dict[str, Discovery] = {}
    dropped: dict[str, int] = {}
    for link in links:
        try:
            if query is not None:
                link = _by_name(link, query)
            address = scope.admit(link.url)
            if address.authority != own and address not in scope:
                reason = OUT_OF_SCOPE
            else:
                reason = against(address.canonical, depth) if link.kind == "page" else ""
        except URLRejected as error:
            reason = error.reason
        if reason:
            dropped[reason] = dropped.get(reason, 0) + 1
            continue
        new = discovery(link, address, parent=parent, depth=depth, ahead=ahead)
        if any(secret.told(text) for text in (new.data, new.key, _text(new.body)) if text):
            dropped["holds a secret"] = dropped.get("holds a secret", 0) + 1
            continue
        first = found.setdefault(new.key, new)
        if first is not new and new.handed:
            handed = first.handed + new.handed
            found[new.key] = replace(first, handed=handed, data=listed(handed))
    return list(found.values()), dropped
