"""Where an HTML document leads: what a browser with scripts would follow, or show, of it.

A refresh inside `<noscript>` is not obeyed, as such a browser does not; other links there are links (readers of pages
without scripts live on them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

_RELS = frozenset({"next", "canonical"})
_FOLLOWED = ("a", "area", "link", "meta")
_FRAMES = ("frame", "iframe")
_IMAGES = ("img", "source")
_REFRESH = re.compile(
    r"""[\t\n\f\r ]*+(?:\d[\d.]*+|\.[\d.]*+)(?:[\t\n\f\r ]*+[;,]|[\t\n\f\r ])[\t\n\f\r ]*+"""
    r"""(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?(?P<quote>["']?)(?P<url>.*)""",
    re.I | re.S,
)
_CANDIDATE = re.compile(r"([^\s,](?:\S*[^\s,])?)(?:,+|\s+[^,]*|$)")


def hrefs(root: Any, *, frames: bool = False, images: bool = False) -> Iterator[tuple[str, Any]]:
    """What stands where a link leads, in the order of the document, and the element it stands in.

    `a[href]`, `area[href]`, `link[rel=next|canonical]` and `meta` refreshes; with `frames` the `src` of frames, with
    `images` the `src` and `srcset` of pictures.
    """
    tags = _FOLLOWED + (_FRAMES if frames else ()) + (_IMAGES if images else ())
    for element in root.iter(*tags):
        tag = element.tag
        if tag == "a" or tag == "area" or (tag == "link" and not _RELS.isdisjoint(_rel(element))):
            if (href := element.get("href")) is not None:
                yield href, element
        elif tag == "meta":
            if (href := _refresh(element)) is not None:
                yield href, element
        elif tag != "link":
            for href in _sources(element, tag):
                yield href, element


def matched(found: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """The same of what a selector found: elements with `href`, and texts."""
    for each in found:
        if isinstance(each, str):
            yield each, None
        elif (href := each.get("href")) is not None:
            yield href, each


def vouches(element: Any) -> bool:
    """Whether the element's `rel` does not say `nofollow`."""
    return element is None or "nofollow" not in _rel(element)


def vouches_for_none(root: Any, header: str) -> bool:
    """Whether a `<meta name=robots>`, or the `X-Robots-Tag` header, says `nofollow` (or `none`) of the whole page."""
    said = [header, *(meta.get("content", "") for meta in root.iter("meta") if _for_robots(meta))]
    words = {word.strip().lower() for text in said for word in text.split(",")}
    return not words.isdisjoint({"nofollow", "none"})


def _for_robots(meta: Any) -> bool:
    return str(meta.get("name", "")).strip().lower() == "robots"


def _rel(element: Any) -> list[str]:
    return str(element.get("rel", "")).lower().split()


def _refresh(meta: Any) -> str | None:
    if str(meta.get("http-equiv", "")).strip().lower() != "refresh":
        return None
    found = _REFRESH.match(meta.get("content", ""))
    if not found or next(meta.iterancestors("noscript"), None) is not None:
        return None
    quote = found["quote"]
    return found["url"].partition(quote)[0] if quote else found["url"]


def _sources(element: Any, tag: str) -> Iterator[str]:
    if tag != "source" and (src := element.get("src")) is not None:
        yield src
    if tag in _IMAGES and (srcset := element.get("srcset")):
        yield from _CANDIDATE.findall(srcset)
