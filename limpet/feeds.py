"""RSS (0.9 to 2.0, and 1.0) and Atom, as `Page.feed` gives them: what every feed has, in one shape."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lxml import etree

from limpet import encoding, links, markup
from limpet_consumers.loose_xml import mended
from limpet_store.errors import ExtractError

_ENTRIES = {"rss": "item", "rdf": "item", "feed": "entry"}
_KNOWN_ELSEWHERE = {  # elements of other vocabularies that say what an entry's own may not say
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/terms/": "dc",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://www.w3.org/2005/Atom": "atom",
}
_LINK = ("link", "atom:link")
_PUBLISHED = ("published", "pubdate", "issued", "dc:date", "dc:created", "created")
_UPDATED = ("updated", "modified", "atom:updated", "dc:modified")
_SUMMARY = ("summary", "description", "atom:summary", "content", "content:encoded")
_END = re.compile(rb"</(?:\w+:)?(?:rss|feed|rdf)\s*>", re.I)
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One entry of a feed; None for what it does not say.

    `id` is the feed's own, else the link. `link` is absolute. `title` is text, `summary` as it stands there, text or
    HTML. `published` and `updated` are in ISO 8601, with the offset if there was one; a date that cannot be read is
    None.
    """

    id: str | None
    link: str | None
    title: str | None
    published: str | None
    updated: str | None
    summary: str | None


def parse(body: bytes, content_type: str, url: str) -> list[FeedEntry]:
    """The entries, in order. Raises ExtractError for what is no feed, or not a whole one."""
    root = _root(mended(body, encoding.header_codec(content_type) or ""), url)
    name = _local(root).lower()
    if name not in _ENTRIES:
        what = "an HTML page" if name == "html" else f"its root is <{name[:40]}>"
        raise ExtractError(f"not a feed: {what}")
    return [_entry(each) for each in root.iter() if _local(each).lower() == _ENTRIES[name]]


def _root(body: bytes, url: str) -> Any:
    if not body.startswith(b"<") or body[:14].lower() == b"<!doctype html":
        raise ExtractError("not a feed: an HTML page" if body.startswith(b"<") else "not a feed: no XML")
    ends = [found.end() for found in _END.finditer(body)]
    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, no_network=True, load_dtd=False
    )
    try:
        root = etree.fromstring(body[: ends[-1]] if ends else body, parser, base_url=url)
    except etree.XMLSyntaxError as error:
        raise ExtractError(f"not a feed: {error.msg}") from None
    # Prefixes that nobody declared are pardoned; whatever would leave out a part of the feed is not.
    fatal = next((each for each in parser.error_log if each.domain_name != "NAMESPACE"), None)
    if root is None or (fatal is not None and _local(root).lower() in _ENTRIES):
        raise ExtractError(f"a feed that is cut, or not well-formed: {fatal and fatal.message}")
    return root


def _entry(element: Any) -> FeedEntry:
    space = _space(element)
    fields: dict[str, list[Any]] = {}
    for child in element:
        if name := _name(child, space):
            fields.setdefault(name, []).append(child)
    link = _link(fields)
    given = _first(fields, ("id", "guid")) or element.get(_ABOUT)
    return FeedEntry(
        id=given or link,
        link=link,
        title=_title(fields),
        published=_date(_first(fields, _PUBLISHED)),
        updated=_date(_first(fields, _UPDATED)),
        summary=_first(fields, _SUMMARY),
    )


def _name(child: Any, space: str) -> str:
    """The name in lower case, with the vocabulary's where it is not the entry's own; "" for what is of no use."""
    own, local = _space(child), _local(child).lower()
    if own == space:
        return local
    prefix = _KNOWN_ELSEWHERE.get(own)
    return f"{prefix}:{local}" if prefix and local else ""


def _link(fields: dict[str, list[Any]]) -> str | None:
    """The page that the entry is about: not its comments, its enclosure or the feed itself."""
    for element in (each for name in _LINK for each in fields.get(name, ())):
        if element.get("rel", "alternate") != "alternate":
            continue
        if url := _url(element, element.get("href") or element.text or ""):
            return url
    for element in fields.get("guid", ()):
        text = (element.text or "").strip()
        if element.get("isPermaLink", "true") != "false" and text.startswith(("http://", "https://")):
            return _url(element, text)
    return None


def _url(element: Any, href: str) -> str | None:
    return links.resolve(element.base or "", href)[0] or None


def _title(fields: dict[str, list[Any]]) -> str | None:
    for element in fields.get("title", ()):
        text = _content(element)
        kind = element.get("type", "")
        if kind in ("html", "text/html", "xhtml"):
            text = markup.text_of(markup.parse(text.encode(), "text/html; charset=utf-8")) if text else ""
        elif _space(element) != "http://www.w3.org/2005/Atom":
            text = html.unescape(text)  # RSS: escaped twice, as most write it, or by mistake
        if words := " ".join(text.split()):
            return words
    return None


def _first(fields: dict[str, list[Any]], names: Iterable[str]) -> str | None:
    texts = (_content(element) for name in names for element in fields.get(name, ()))
    return next((text for text in texts if text), None)


def _content(element: Any) -> str:
    """The text of an element; of one with elements in it, as XHTML has it, its markup."""
    if len(element):
        inside = [etree.tostring(child, encoding="unicode") for child in element]
        return "".join([element.text or "", *inside]).strip()
    return (element.text or "").strip()


def _date(text: str | None) -> str | None:
    if not text:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(text)
        except (ValueError, TypeError, OverflowError):
            continue
        is_day = len(text) <= 10
        return found.date().isoformat() if is_day else found.isoformat()
    return None


def _local(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}" if tag.startswith("{") else ":")[2] if isinstance(tag, str) else ""


def _space(element: Any) -> str:
    tag = element.tag
    return tag[1:].partition("}")[0] if isinstance(tag, str) and tag.startswith("{") else ""
