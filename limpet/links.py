"""From what stands in an `href` to an absolute URL, by the WHATWG rules, or to why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import ada_url
from parsel import Selector, SelectorList

from limpet_store.errors import ExtractError
from limpet_store.items import Link

_BLANK = "\t\n\f\r "
_QUIET = frozenset({"about", "blob", "data", "javascript", "mailto", "sms", "tel"})  # never meant as pages


@dataclass(frozen=True, slots=True)
class NoLink(Link):
    """A link that leads to no page; `reason` is the word it is counted under, "" for not at all."""

    url: str = ""
    reason: str = ""


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
        return "", "malformed"
    if url.startswith(("http://", "https://")):
        return url, None
    scheme = url.partition(":")[0]
    return "", "" if scheme in _QUIET else "scheme"


def _query_in(href: str, codec: str) -> str:
    if href.isascii() or codec.startswith("utf_"):
        return href
    path, mark, rest = href.partition("?")
    query, hash_mark, fragment = rest.partition("#")
    if "#" in path or not mark:
        return href
    sent = re.sub(r"[^\x00-\x7f]+", lambda found: quote(found[0].encode(codec, "xmlcharrefreplace")), query)
    return path + mark + sent + hash_mark + fragment
