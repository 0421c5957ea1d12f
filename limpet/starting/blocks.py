"""Repeated blocks of a page, the cards of a list, and where the list goes on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from limpet import markup
from limpet.page import Page

LEAST = 3  # links that make a list
MOST_LINKS = 3_000  # that are looked at
_PRICE = re.compile(r"[$€£¥]|\d[.,]\d\d\b")
_ASIDE = frozenset({"nav", "header", "footer", "aside"})
_NEXT = re.compile(
    r"(next|next page|older|more|weiter|nächste(\s+seite)?|suivante?|siguiente|volgende|successiv[ao]|[›»→>]+)"
    r"(\s*[›»→>]+)?",
    re.I,
)
_USUAL_NEXT = (
    "a[rel=next]", "link[rel=next]", "a.next", ".next a", "li.next > a", "a.pagination-next", ".pagination-next a",
    "[aria-label=Next]", "a[aria-label=Next]", "a.page-next", "a.next-page",
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, slots=True)
class Blocks:
    """The cards of a list: their selector, that of the link in each, and where the links lead."""

    card: str
    link: str
    count: int
    urls: list[str]
    example: str  # the text of the first card


def blocks(page: Page) -> Blocks | None:
    """The most promising list of links on the page; None where there is none of at least three."""
    groups = _groups(page)
    best = max(groups, key=_score, default=None)
    return None if best is None else _described(page, best)


def next_page(page: Page, cards: Blocks) -> str | None:
    """A selector of the link to the next page of the list."""
    root = page.selector.root
    things = {url.partition("#")[0] for url in cards.urls}

    def leads_on(link: Any) -> bool:
        url = page.link(link.get("href") or "").url.partition("#")[0]
        return bool(url) and url not in things and url != page.url

    for css in _USUAL_NEXT:
        found = _select(root, css)
        if 0 < len(found) <= 2 and all(map(leads_on, found)):  # above the list and below it
            return css
    for link in _select(root, "a[href]"):
        words = markup.text_of(link)
        if words and len(words) < 20 and _NEXT.fullmatch(words) and leads_on(link):
            return selector_for(root, [link])
    numbers = [
        link for link in _select(root, "a[href]") if markup.text_of(link).isdecimal() and leads_on(link)
    ]
    numbered = any(markup.text_of(link) == "2" for link in numbers)
    return selector_for(root, numbers) if numbered else None


@dataclass(frozen=True, slots=True)
class _Group:
    """Links that stand in the same place of their cards."""

    links: list[Any]
    urls: list[str]
    cards: list[Any]


def _groups(page: Page) -> list[_Group]:
    own = page.url.split("/", 3)[2]
    places: dict[str, dict[str, Any]] = {}
    for link in _select(page.selector.root, "a[href]")[:MOST_LINKS]:
        url = page.link(link.get("href")).url
        if url and url.split("/", 3)[2] == own and url.partition("#")[0] != page.url:
            places.setdefault(_place(link), {}).setdefault(url.partition("#")[0], link)
    groups = []
    for found in places.values():
        if len(found) >= LEAST:
            links, urls = list(found.values()), list(found)
            groups.append(_Group(links, urls, _cards(page, links)))
    return groups


def _place(link: Any) -> str:
    """The tags from the root to the link, and the first class of the innermost of them: alike in alike cards."""
    tags = [element.tag for element in link.iterancestors()][::-1]
    return "/".join([*map(str, tags), "a." + (link.get("class") or "").partition(" ")[0]])


def _cards(page: Page, links: list[Any]) -> list[Any]:
    """For each link the largest element around it that has no other link of the group in it."""
    those = set(links)
    cards = []
    for link in links:
        card = link
        for above in link.iterancestors():
            if above.tag in ("body", "html") or any(
                each in those and each is not link for each in above.iter("a")
            ):
                break
            card = above
        cards.append(card)
    return cards


def _score(group: _Group) -> float:
    """Many cards with much in them that lead to pages of one kind."""
    texts = [markup.text_of(card) for card in group.cards]
    rich = sum(min(len(text), 200) for text in texts) / len(texts)
    prices = sum(bool(_PRICE.search(text)) for text in texts) / len(texts)
    pictures = sum(card.find(".//img") is not None for card in group.cards) / len(texts)
    aside = any(above.tag in _ASIDE for above in group.links[0].iterancestors())
    score = (
        min(len(group.urls), 60) ** 0.5 * (10 + rich) * (1 + 2 * prices + pictures) * _likeness(group.urls)
    )
    return float(score * (0.05 if aside else 1.0))


def _likeness(urls: list[str]) -> float:
    """How much the URLs are of one kind: the share that has the most common shape."""
    shapes = [re.sub(r"[^/?&=]*\d[^/?&=]*", "0", url.split("/", 3)[3]) for url in urls]
    shapes = [f"{shape.count('/')} {shape.partition('/')[0]}" for shape in shapes]
    return max(map(shapes.count, set(shapes))) / len(shapes)


def _described(page: Page, group: _Group) -> Blocks:
    root = page.selector.root
    card = selector_for(root, group.cards)
    there = _select(root, card)
    link = _link_in(page, there, group)
    urls = [found.url for each in there if (found := page.link(_first_href(each, link))).url]
    return Blocks(card, link, len(there), urls or group.urls, markup.text_of(group.cards[0]))


def _link_in(page: Page, cards: list[Any], group: _Group) -> str:
    """The shortest selector whose first match in each card is the link; `a` where none is exact."""
    wanted = set(group.links)
    first = group.links[0]
    if first in cards:
        return ""
    candidates = ["a", *(css for css in _own(first) if css != "a")]
    candidates += [f"{css} a" for above in first.iterancestors() for css in _own(above)][:12]
    urls = set(group.urls)
    for css in candidates:
        hrefs = [page.link(_first_href(card, css)).url.partition("#")[0] for card in cards]
        if sum(href in urls for href in hrefs) >= len(wanted):
            return css
    return "a"


def _first_href(card: Any, css: str) -> str:
    found = _select(card, css) if css else [card]
    return (found[0].get("href") or "") if found else ""


def selector_for(root: Any, elements: list[Any]) -> str:
    """A short selector that matches just these elements, or as nearly these as one of the simple ones can."""
    wanted, first = set(elements), elements[0]
    best, best_miss = first.tag, float("inf")
    for css in _candidates(first):
        found = set(_select(root, css))
        if found == wanted:
            return css
        miss = len(found ^ wanted) + 2 * len(wanted - found)
        if miss < best_miss:
            best, best_miss = css, miss
    return str(best)


def _candidates(element: Any) -> Iterator[str]:
    own = list(_own(element))
    yield from own
    above = element.getparent()
    for step in range(3):
        if above is None or above.tag in ("html", "body"):
            return
        for outer in _own(above):
            yield from (f"{outer} {inner}" for inner in own)
            if step == 0:
                yield from (f"{outer} > {inner}" for inner in own)
        above = above.getparent()


def _own(element: Any) -> Iterable[str]:
    """Selectors of one element: by class, by tag and class, by what it calls itself, by tag."""
    classes = [name for name in (element.get("class") or "").split() if _WORD.fullmatch(name)]
    yield from (f".{name}" for name in classes)
    yield from (f"{element.tag}.{name}" for name in classes)
    if _WORD.fullmatch(element.get("id") or ""):
        yield f"#{element.get('id')}"
    for name in ("itemprop", "data-testid", "rel", "role"):
        if _WORD.fullmatch(element.get(name) or ""):
            yield f"[{name}={element.get(name)}]"
    yield str(element.tag)


def _select(root: Any, css: str) -> list[Any]:
    return list(markup.select(css, False)(root))
