"""Reading a sitemap: <urlset>, <sitemapindex>, a list of URLs, RSS or Atom, packed or not, by what it is and not by its
name.

Entries are kept as they go by; no tree is built. What is no whole sitemap (an HTML page, cut XML, more than the
protocol allows) is a failure with its reason, never a shorter list. `priority` and `changefreq` are left unread, and so
are images, videos, news and other languages of a page.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from lxml import etree

from limpet_consumers.loose_xml import mended

MOST_BYTES = 50_000_000  # unpacked; the protocol's limit
RATIO = 250  # what is packed more than this, beyond the first megabyte, was made to harm
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
