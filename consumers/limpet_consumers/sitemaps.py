"""Sitemaps (sitemaps.org): pages of their own kind, whose answer is a list of pages and of further sitemaps.

Read are <urlset>, <sitemapindex>, plain lists of URLs, RSS and Atom, packed or not, by what they are and not by what
they are called. They go by as they are parsed; no tree is built. What is no whole sitemap (an HTML page, cut XML,
more than the protocol allows) is a failure with its reason, never a shorter list. `priority` and `changefreq` are
left unread, and so are images, videos, news and other languages of a page.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from ada_url import join_url
from lxml import etree

from limpet_consumers.http import Response
from limpet_consumers.loose_xml import mended
from limpet_consumers.runtime import SiteRuntime
from limpet_store import listed
from limpet_store.admission import Discovery, Scope, discovery
from limpet_store.attempts import Attempt
from limpet_store.canonical import admit
from limpet_store.errors import URLRejected
from limpet_store.items import Link
from limpet_store.outcomes import Kind, Outcome

MOST_BYTES = 50_000_000  # unpacked; the protocol's limit
MOST_LEVELS = 5  # of sitemaps that name sitemaps; the protocol knows two
RATIO = 250  # what is packed more than this, beyond the first megabyte, was made to harm
PRIORITY = 1  # before pages: they say what there is
CHUNK = 65_536
HTML = "an HTML page, not a sitemap"


class NotRead(Exception):
    """This is no sitemap, or not all of one. `final`: it will not be better in an hour."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason)
        self.final = final


class Listed(NamedTuple):
    """What a sitemap says of one page or sitemap. `url` as it is written."""

    url: str
    lastmod: str
    kind: str


class _Form(NamedTuple):
    """Where a format has its entries: how deep, their names and kinds, and the names of what is read of them."""

    depth: int
    entries: Mapping[str, str]
    url: str
    lastmod: str


_SITEMAP = _Form(2, {"url": "page", "sitemap": "sitemap"}, "loc", "lastmod")
_FORMS = {
    "urlset": _SITEMAP,
    "sitemapindex": _SITEMAP,
    "rss": _Form(3, {"item": "page"}, "link", "pubdate"),
    "rdf": _Form(2, {"item": "page"}, "link", "date"),
    "feed": _Form(2, {"entry": "page"}, "link", "updated"),
}
_ANY_NAMESPACE = frozenset({"date"})  # Dublin Core's, in RSS 1.0


def outcome(attempt: Attempt, response: Response, site: SiteRuntime, scope: Scope) -> Outcome:
    """What came of a sitemap that was answered with 2xx."""
    try:
        entries = read(response.body, site.knobs.max_sitemap)
    except NotRead as error:
        kind = Kind.DEAD if error.final else Kind.RETRY
        return Outcome(
            attempt=attempt, kind=kind, status=response.status, reason="failed", error=str(error),
            jitter=random.random(),
        )  # fmt: skip
    size = scope.size  # before it is asked: it may grow meanwhile
    found, dropped = leads(entries, attempt, site, scope)
    return Outcome(
        attempt=attempt, kind=Kind.DONE, status=response.status, discoveries=found, dropped=dropped,
        scope=size if "out of scope" in dropped else None,
    )  # fmt: skip


def leads(
    entries: Sequence[Listed], attempt: Attempt, site: SiteRuntime, scope: Scope
) -> tuple[list[Discovery], dict[str, int]]:
    """The pages and sitemaps that become rows, each once, and a count of the others by reason.

    A page must be in scope and have a handler. A sitemap may also be on the host of the one that names it, which was
    let in: a robots.txt may name sitemaps elsewhere.
    """
    page = attempt.page
    own = admit(page.canonical).authority
    found: dict[str, Discovery] = {}
    dropped: Counter[str] = Counter()
    for entry in entries:
        try:
            address = admit(_absolute(page.canonical, entry.url))
        except URLRejected as error:
            dropped[error.reason] += 1
            continue
        handler, is_page = None, entry.kind == "page"
        if address not in scope and (is_page or address.authority != own):
            dropped["out of scope"] += 1
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
            new = discovery(link, address, parent=page.id, depth=page.depth + 1, code=code)
            found.setdefault(new.key, new)
    return list(found.values()), dict(dropped)


def named(urls: Sequence[str], origin: str, parent: int) -> list[Discovery]:
    """The sitemaps that a robots.txt names, on whatever host (cross-submission); /sitemap.xml if it names none."""
    found: dict[str, Discovery] = {}
    for url in urls or ("/sitemap.xml",):
        try:
            address = admit(_absolute(origin, url))
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


def read(body: bytes, most: int = 50_000) -> list[Listed]:
    """Everything that a sitemap lists, in order. Raises NotRead; there is no half of one."""
    if body.startswith(b"\x1f\x8b"):
        body = _unpacked(body)
    if len(body) > MOST_BYTES:
        raise NotRead(f"a sitemap larger than {MOST_BYTES // 1_000_000} MB", final=True)
    body = mended(body)
    if not body:
        raise NotRead("an empty answer, not a sitemap")
    if body[:14].lower() == b"<!doctype html":
        raise NotRead(HTML)
    return _parsed(body, most) if body.startswith(b"<") else _lines(body, most)


def _unpacked(body: bytes) -> bytes:
    """gzip, of one member or several; bytes after them are padding."""
    limit = min(MOST_BYTES, 1_000_000 + RATIO * len(body))
    parts: list[bytes] = []
    size, rest = 0, body
    while rest.startswith(b"\x1f\x8b"):
        stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            parts.append(stream.decompress(rest, limit - size + 1))
        except zlib.error as error:
            raise NotRead(f"the packed sitemap is damaged: {error}") from None
        size += len(parts[-1])
        if size > limit:
            raise NotRead(f"the packed sitemap unpacks to more than {limit} bytes", final=True)
        if not stream.eof:
            raise NotRead("the packed sitemap is cut short")
        rest = stream.unused_data
    return b"".join(parts)


def _lines(body: bytes, most: int) -> list[Listed]:
    lines = [line.strip() for line in body.decode("utf_8", "replace").splitlines() if line.strip()]
    if not lines[0].lower().startswith(("http://", "https://")):
        raise NotRead("neither XML nor a list of URLs: not a sitemap")
    if len(lines) > most:
        raise _too_many(most)
    return [Listed(line, "", "page") for line in lines]


def _too_many(most: int) -> NotRead:
    return NotRead(f"a sitemap of more than {most} URLs; see tune(max_sitemap=)", final=True)


def _parsed(body: bytes, most: int) -> list[Listed]:
    reader: Any = _Reader(most)
    # huge_tree is off: 256 levels and 10 MB of text in one place are more than enough.
    parser = etree.XMLParser(
        target=reader,
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
    )
    view = memoryview(body)
    try:
        for at in range(0, len(body), CHUNK):
            parser.feed(bytes(view[at : at + CHUNK]))
        parser.close()
    except etree.XMLSyntaxError as error:
        if not reader.whole:  # what follows the end is nobody's
            raise NotRead(f"cut short, or not well-formed XML: {error.msg}") from None
    found: list[Listed] = reader.found
    return found


class _Reader:
    """The parser's target: keeps the entries and nothing else."""

    def __init__(self, most: int) -> None:
        self.found: list[Listed] = []
        self.whole = False
        self._most = most
        self._depth = 0
        self._form = _SITEMAP
        self._kind = ""  # of the entry we are in
        self._space = ""  # its namespace
        self._url: str | None = None
        self._lastmod = ""
        self._text: list[str] | None = None  # of the field we are in

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self._form = _form(_split(tag)[1])
        elif self._depth == self._form.depth:
            space, name = _split(tag)
            self._kind, self._space = self._form.entries.get(name, ""), space
            self._url, self._lastmod = None, ""
        elif self._kind and self._depth == self._form.depth + 1:
            self._field(tag, attributes)

    def _field(self, tag: str, attributes: Mapping[str, str]) -> None:
        space, name = _split(tag)
        if space != self._space and name not in _ANY_NAMESPACE:
            return
        if name == self._form.url and self._url is None:
            if "href" in attributes and attributes.get("rel", "alternate") == "alternate":  # Atom
                self._url = attributes["href"].strip()
            elif "href" not in attributes:
                self._text = []
        elif name == self._form.lastmod and not self._lastmod:
            self._text = []

    def data(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        if self._depth == self._form.depth + 1 and self._text is not None:
            text, self._text = "".join(self._text).strip(), None
            if _split(tag)[1] == self._form.url:
                self._url = text
            else:
                self._lastmod = text
        elif self._depth == self._form.depth and self._kind:
            if len(self.found) >= self._most:
                raise _too_many(self._most)
            self.found.append(Listed(self._url or "", self._lastmod, self._kind))
            self._kind = ""
        self._depth -= 1
        self.whole = self._depth == 0

    def close(self) -> None:
        """Asked for by the parser."""


def _form(root: str) -> _Form:
    if root not in _FORMS:
        raise NotRead(HTML if root == "html" else f"its root is <{root[:40]}>: not a sitemap")
    return _FORMS[root]


def _split(tag: str) -> tuple[str, str]:
    """(namespace, name) in lower case; an undeclared prefix is a namespace too."""
    space, _, name = tag.rpartition("}" if tag.startswith("{") else ":")
    return space, name.lower()


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
