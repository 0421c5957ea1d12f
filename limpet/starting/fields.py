"""What a page says about its one thing, and how a handler would read it."""

from __future__ import annotations

import json
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
    "SoftwareApplication", "VideoGame", "Vehicle", "Car", "RealEstateListing", "Apartment", "House", "NewsArticle",
    "BlogPosting", "TechArticle", "ScholarlyArticle", "Article", "Dataset", "VideoObject", "Question", "Hotel",
    "Restaurant", "LocalBusiness", "Person",
)  # fmt: skip
SITES = frozenset({"hotel", "restaurant", "local_business", "person"})  # may be whose site it is
IDENTIFIERS = (
    "sku", "productID", "gtin13", "gtin", "gtin8", "gtin12", "gtin14", "isbn", "mpn", "identifier", "@id",
)  # fmt: skip
PLAIN = ("name", "headline", "brand", "datePublished", "author", "description", "category", "color")
RENAMED = {"priceCurrency": "currency", "lowPrice": "price", "datePublished": "published"}
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
LABELS = re.compile(
    r"(upc|sku|isbn(-1[03])?|ean|gtin|mpn|(article|item|product|part|model)[ -](no\.?|number|code|id))\W*",
    re.I,
)
Path = tuple[str | int, ...]


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
                if len(made.fields) > 1 and (made.key or _differ(each, pages)):
                    return made
    return None


def _of_node(found: Found, pages: Sequence[Page]) -> Thing:
    nodes = [found.node, *(_first(page, found) for page in pages[1:])]
    fields = [
        _field(path, found.node) for path in _paths(found.node) if all(_plain(node, path) for node in nodes)
    ]
    key = next((_field((name,), found.node) for name in IDENTIFIERS if _identifies(name, nodes)), None)
    setup = [f"found = page.{found.kind}({json.dumps(found.type)}).one()"]
    return Thing(_snake(found.type), setup, key, fields[:MOST_FIELDS], found.kind)


def _differ(found: Found, pages: Sequence[Page]) -> bool:
    """Whether each page speaks of another: what they share is about the site."""
    names = [
        _plain(node, ("name",)) or _plain(node, ("headline",))
        for node in (_first(page, found) for page in pages)
    ]
    return len(set(names)) == len(names)


def _first(page: Page, found: Found) -> dict[str, Any]:
    nodes = page.jsonld(found.type) if found.kind == "jsonld" else page.microdata(found.type)
    node = nodes.one(None)
    return node if isinstance(node, dict) else {}


def _identifies(name: str, nodes: Sequence[dict[str, Any]]) -> bool:
    """All the nodes have it, as text or a number, and each another."""
    values = [_plain(node, (name,)) for node in nodes]
    return all(values) and len(set(values)) == len(values)


def _paths(node: dict[str, Any]) -> Iterator[Path]:
    """Where the values are that a record may want."""
    for name in PLAIN:
        yield (name, "name") if isinstance(node.get(name), dict) else (name,)
    offers: Path = ("offers", 0) if isinstance(node.get("offers"), list) else ("offers",)
    price = "price" if _plain(node, (*offers, "price")) else "lowPrice"
    yield from ((*offers, name) for name in (price, "priceCurrency", "availability"))


def _plain(node: Any, path: Path) -> str:
    """The text or number at the path; "" where there is none."""
    for step in path:
        try:
            node = node[step]
        except (LookupError, TypeError):
            return ""
    return str(node).strip() if isinstance(node, (str, int, float)) and not isinstance(node, bool) else ""


def _field(path: Path, node: dict[str, Any]) -> Field:
    last = next(step for step in reversed(path) if step != "name" or len(path) == 1)
    code = "found" + "".join(f"[{json.dumps(step)}]" for step in path)
    return Field(RENAMED.get(str(last), str(last)), code, _plain(node, path))


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


# -- markup


def _selected(pages: Sequence[Page]) -> Thing | None:
    roots = [page.selector.root for page in pages]
    found = {name: css for name, words in WORDS.items() if (css := _selector(roots, name, words))}
    labelled = _labelled(roots)
    key = next((css for css in (found.pop("sku", None), labelled) if css and _differs(roots, css)), None)
    if not found:
        return None
    fields = [_read(name, css, roots[0]) for name, css in found.items()]
    kind = str(pages[0].opengraph().get("og:type", ""))
    if kind not in ("article", "book", "product", "profile"):
        kind = "article" if all(len(_select(root, "article h1")) == 1 for root in roots) else ""
    return Thing(kind, (), _read("sku", key, roots[0]) if key else None, fields[:MOST_FIELDS], "markup")


def _selector(roots: Sequence[Any], name: str, words: Sequence[str]) -> str | None:
    if name == "name" and all(len(_select(root, "h1")) == 1 for root in roots):
        return "h1"
    css = _named(roots, name, words)
    return css if css and (name not in ("name", "description") or _differs(roots, css)) else None


def _read(name: str, css: str, root: Any) -> Field:
    return Field(name, f"page.one({json.dumps(css)})", markup.text_of(_select(root, css)[0]))


def _differs(roots: Sequence[Any], css: str) -> bool:
    """Whether each page has another text there."""
    texts = [markup.text_of(_select(root, css)[0]) for root in roots]
    return len(set(texts)) == len(texts)


def _labelled(roots: Sequence[Any]) -> str | None:
    """A value beside a label like `UPC` in a table or a list of definitions."""
    for tag, value in (("th", "td"), ("td", "td"), ("dt", "dd")):
        for element in _select(roots[0], tag):
            label = markup.text_of(element)
            if LABELS.fullmatch(label) and "'" not in label:
                css = f"{tag}:contains('{label}') + {value}"
                if all(_only_short(root, css, "sku") for root in roots):
                    return css
    return None


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
