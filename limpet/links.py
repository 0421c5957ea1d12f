"""From what stands in an `href` to an absolute URL, by the WHATWG rules, or to why there is none; and what a link may
hold, whoever made it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import ada_url
from parsel import Selector, SelectorList

from limpet import clean, encoding
from limpet_store.errors import ExtractError
from limpet_store.items import Ask, Link

MOST_PRIORITY = 1_000_000
_NOT_ABSOLUTE = "not an absolute http or https URL; page.link() makes one"
_BLANK = "\t\n\f\r "
_QUIET = frozenset({"about", "blob", "data", "javascript", "mailto", "sms", "tel"})  # never meant as pages


@dataclass(frozen=True, slots=True)
class NoLink(Link):
    """A link that leads to no page; `reason` is the word it is counted under, "" for not at all. With `missing`, what
    it was to hold and was not there, it is a rejection."""

    url: str = ""
    reason: str = ""
    missing: str = ""


def href(target: Any) -> str | None:
    """The text of the link that `target` (a URL, a selector, a list of selectors) is, or None."""
    if isinstance(target, SelectorList):
        target = target[0] if target else None
    if isinstance(target, Selector):
        root = target.root
        target = root if isinstance(root, str) else root.get("href")
    if target is None or isinstance(target, str):
        return target
    raise ExtractError(f"a link's target is a URL or a selector, not {type(target).__name__}")


def resolve(base: str, href: str, codec: str = "utf_8") -> tuple[str, str | None]:
    """(absolute URL, None), or ("", why not): "malformed", "scheme", or "" for what was never a page.

    `codec` is the document's: a query that is not ASCII is sent in it, as browsers do.
    """
    href = href.strip(_BLANK)
    if not href or href.startswith("#"):
        return "", ""
    try:
        url = ada_url.join_url(base, _query_in(href, codec))
    except ValueError:
        return "", "" if _scheme(href) in _QUIET else "malformed"
    if url.startswith(("http://", "https://")):
        return url, None
    return "", "" if _scheme(url) in _QUIET else "scheme"


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _query_in(href: str, codec: str) -> str:
    if href.isascii() or codec.startswith("utf_") or codec == encoding.REPLACEMENT:
        return href
    path, mark, rest = href.partition("?")
    query, hash_mark, fragment = rest.partition("#")
    if "#" in path or not mark:
        return href
    sent = re.sub(r"[^\x00-\x7f]+", lambda found: quote(found[0].encode(codec, "xmlcharrefreplace")), query)
    return path + mark + sent + hash_mark + fragment


def plain(link: Link) -> Link:
    """The link in plain types, which no later step refuses. Raises Refused, and Absent for a missing value in it."""
    url = clean.text(link.url, "url") if isinstance(link.url, str) else ""
    if not url[:8].lower().startswith(("http://", "https://")):
        raise clean.Refused(_NOT_ABSOLUTE)
    if link.to is not None and not isinstance(link.to, str):
        raise clean.Refused("to: the name of a handler")
    if link.ask is not None and type(link.ask) is not Ask:
        raise clean.Refused("ask: page.request() makes it")
    if link.kind not in ("page", "sitemap"):
        raise clean.Refused('kind: "page" or "sitemap"')
    if link.lastmod is not None and not isinstance(link.lastmod, str):
        raise clean.Refused("lastmod: text")
    if link.position and link.key is None:
        raise clean.Refused("position without key: page.follow() makes one")
    data = clean.handed_down(link.data)
    if link.merge and data is None:
        raise clean.Refused('merge="list" without data: there is nothing to collect')
    return Link(
        url,
        None if link.to is None else clean.text(link.to, "to"),
        data,
        priority(link.priority),
        link.ask,
        None if link.key is None else key(link.key),
        bool(link.position),
        bool(link.merge),
        str(link.kind),
        None if link.lastmod is None else clean.text(link.lastmod, "lastmod"),
    )


def key(given: Any) -> str:
    """A page's identity. Raises Refused."""
    found = clean.text(given, "key") if isinstance(given, str) else ""
    if not found.strip() or len(found) > clean.MOST_KEY:
        raise clean.Refused(f"key {clean.printable(given)!r}: a text of 1 to {clean.MOST_KEY:,} characters")
    return found


def priority(given: Any) -> int:
    """A page's priority. Raises Refused."""
    if not isinstance(given, int) or isinstance(given, bool) or abs(given) > MOST_PRIORITY:
        raise clean.Refused("priority: a whole number within a million")
    return int(given)
