"""What a page says about its one thing, and how a handler would read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from limpet import markup
from limpet.page import Page
from limpet.starting.blocks import selector_for
from limpet.structured import Found, survey

# What a thing is, in the vocabulary of schema.org; the others are about the page or inside of things.
THINGS = (
    "Product", "ProductGroup", "Book", "Recipe", "JobPosting", "Event", "Movie", "TVSeries", "MusicAlbum", "Course",
    "SoftwareApplication", "VideoGame", "Vehicle", "Car", "RealEstateListing", "Apartment", "House", "Hotel",
    "Restaurant", "LocalBusiness", "Person", "NewsArticle", "BlogPosting", "TechArticle", "ScholarlyArticle",
    "Article", "Dataset", "VideoObject", "Question", "Review",
)  # fmt: skip
IDENTIFIERS = (
    "sku",
    "productID",
    "gtin13",
    "gtin",
    "gtin8",
    "gtin12",
    "gtin14",
    "isbn",
    "mpn",
    "identifier",
    "@id",
)
PLAIN = ("name", "headline", "brand", "datePublished", "author", "description", "category", "color", "url")
MOST_FIELDS, LONGEST = 8, 200
# field: words of a class, an id or an itemprop that name it
WORDS = {
    "sku": (
        "sku",
        "articlenumber",
        "itemnumber",
        "productid",
        "productcode",
        "mpn",
        "isbn",
        "ean",
        "gtin",
        "upc",
    ),
    "name": ("title", "name", "headline"),
    "price": ("price", "amount", "preis", "prix", "precio"),
    "brand": ("brand", "manufacturer", "vendor"),
    "availability": ("availability", "stock", "instock"),
    "rating": ("rating", "stars"),
    "author": ("author", "byline"),
    "date": ("date", "published", "pubdate", "datetime"),
    "category": ("category",),
    "description": ("description",),
}
IDENTITY = ("sku",)


@dataclass(frozen=True, slots=True)
class Field:
    """A value of a record: its name, the Python that reads it from `page` (or `found`), and what that gives here."""

    name: str
    code: str
    example: str


@dataclass(frozen=True, slots=True)
class Thing:
    """What a page is about: the lines that fetch it, the type of its record, its key if one was seen, its fields."""

    type: str
    setup: Sequence[str]
    key: Field | None
    fields: Sequence[Field]
    source: str  # where it was found, for a comment


def thing(pages: Sequence[Page]) -> Thing | None:
    """What these pages, of one kind, are about: from structured data if they have any, else from their markup."""
    return _structured(pages) or _selected(pages)


def said(pages: Sequence[Page]) -> list[str]:
    """Structured data that the first page has besides, for a comment."""
    found = [
        f"page.{each.kind}({each.type!r})" for each in survey(pages[0]) if each.kind in ("jsonld", "embedded")
    ]
    return list(dict.fromkeys(found))[:6]


# -- structured data


def _structured(pages: Sequence[Page]) -> Thing | None:
    found = survey(pages[0])
    for name in THINGS:
        for each in found:
            if each.type == name and each.kind in ("jsonld", "microdata") and isinstance(each.node, dict):
                made = _of_node(each, pages)
                if len(made.fields) > 1:
                    return made
    return None


def _of_node(found: Found, pages: Sequence[Page]) -> Thing:
    nodes = [found.node, *(_first(page, found) for page in pages[1:])]
    fields = [field for field in _fields_of(found.node) if all(_has(node, field.name) for node in nodes)]
    key = next((_field(found.node, name) for name in IDENTIFIERS if _identifies(name, nodes)), None)
    setup = [f"found = page.{found.kind}({found.type!r}).one()"]
    return Thing(_snake(found.type), setup, key, fields[:MOST_FIELDS], found.kind)


def _first(page: Page, found: Found) -> dict[str, Any]:
    nodes = page.jsonld(found.type) if found.kind == "jsonld" else page.microdata(found.type)
    node = nodes.one(None)
    return node if isinstance(node, dict) else {}


def _has(node: dict[str, Any], name: str) -> bool:
    return name in ("price", "currency", "availability") or name in node or name == "brand"


def _identifies(name: str, nodes: Sequence[dict[str, Any]]) -> bool:
    """All the nodes have it, as text or a number, and each another."""
    values = [node.get(name) for node in nodes]
    plain = all(isinstance(value, (str, int)) and str(value).strip() for value in values)
    return plain and len(set(map(str, values))) == len(values)


def _field(node: dict[str, Any], name: str) -> Field:
    return Field(name, f"found[{name!r}]".replace("'", '"'), str(node[name]))


def _fields_of(node: dict[str, Any]) -> Iterator[Field]:
    for name in PLAIN:
        value = node.get(name)
        if isinstance(value, (str, int, float)) and name != "url":
            yield Field(name, f'found.get("{name}")', str(value))
        elif isinstance(value, dict) and isinstance(value.get("name"), str):
            yield Field(name, f'found["{name}"]["name"]', value["name"])
    offers = node.get("offers")
    offer, path = (
        (offers[0], '["offers"][0]') if isinstance(offers, list) and offers else (offers, '["offers"]')
    )
    if isinstance(offer, dict):
        for name in ("price", "lowPrice", "priceCurrency", "availability"):
            if isinstance(offer.get(name), (str, int, float)):
                yield Field(_plainer(name), f'found{path}["{name}"]', str(offer[name]))


def _plainer(name: str) -> str:
    return {"priceCurrency": "currency", "lowPrice": "price"}.get(name, name)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


# -- markup


def _selected(pages: Sequence[Page]) -> Thing | None:
    roots = [page.selector.root for page in pages]
    fields: dict[str, Field] = {}
    for name, words in WORDS.items():
        css = _heading(roots) if name == "name" else None
        css = css or _named(roots, name, words)
        if css:
            example = markup.text_of(_select(roots[0], css)[0])
            fields[name] = Field(name, _reader(name, css, roots), example)
    key = next(
        (fields.pop(name) for name in IDENTITY if name in fields and _tells_apart(roots, fields[name])), None
    )
    if not fields:
        return None
    return Thing("", (), key, list(fields.values())[:MOST_FIELDS], "markup")


def _reader(name: str, css: str, roots: Sequence[Any]) -> str:
    quoted = css.replace('"', "'")
    return f'page.one("{quoted}")'


def _tells_apart(roots: Sequence[Any], field: Field) -> bool:
    css = field.code.split('"')[1]
    texts = [markup.text_of(_select(root, css)[0]) for root in roots]
    return len(set(texts)) == len(texts) and all(len(text) < 60 for text in texts)


def _heading(roots: Sequence[Any]) -> str | None:
    return "h1" if all(len(_select(root, "h1")) == 1 for root in roots) else None


def _named(roots: Sequence[Any], field: str, words: Sequence[str]) -> str | None:
    """A selector that finds one element, with a short text, on each of the pages."""
    found = [element for element in roots[0].iter("*") if _is_named(element, words)]
    for element in sorted(found, key=lambda each: len(list(each.iter()))):
        css = selector_for(roots[0], [element])
        if all(_only_short(root, css, field) for root in roots):
            return css
    return None


def _is_named(element: Any, words: Sequence[str]) -> bool:
    if element.tag in ("meta", "script", "style", "input", "link", "html", "body", "option"):
        return False
    names = [element.get(name) or "" for name in ("itemprop", "class", "id", "data-testid")]
    folded = [part.replace("-", "").replace("_", "").lower() for name in names for part in name.split()]
    return any(
        part == word or part.endswith(word) or part.startswith(word) for part in folded for word in words
    )


def _only_short(root: Any, css: str, field: str) -> bool:
    found = _select(root, css)
    if len(found) != 1:
        return False
    text = markup.text_of(found[0])
    return 0 < len(text) <= LONGEST and (field != "price" or bool(re.search(r"\d", text)))


def _select(root: Any, css: str) -> list[Any]:
    return list(markup.select(css, False)(root))
