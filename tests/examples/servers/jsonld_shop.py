"""A shop whose pages carry JSON-LD, as it is found: groups with variants, lists where one thing would do, numbers as
text and text as numbers, blocks that are no JSON, and pages with OpenGraph alone.

How a page says what it sells goes by its number: see `KINDS`. Product 13 has no price to be read. Ratings grow with
each look at a page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from serving import NOWHERE, Answer, Asked, SiteOfOurs, html, serve

PRODUCTS = 48
PER_PAGE = 16
ON_REQUEST = 13
SIZES = ("S", "M", "L", "XL")
ONE_SIZE = "one size"


def sizes(n: int) -> tuple[str, ...]:
    return SIZES[: 2 + n % 3] if KINDS[n % len(KINDS)] in (group, graph, broken) else (ONE_SIZE,)


def cents(n: int, size: str) -> int:
    return 1990 + n * 37 % 500 * 10 + 250 * (SIZES.index(size) if size in SIZES else 0)


def price(n: int, size: str) -> str:
    return f"{cents(n, size) // 100}.{cents(n, size) % 100:02d}"


def in_stock(n: int, size: str) -> bool:
    return (n + len(size)) % 5 != 0


def offer(n: int, size: str, **more: Any) -> dict[str, Any]:
    word = "InStock" if in_stock(n, size) else "OutOfStock"
    amount: Any = price(n, size) if n != ON_REQUEST else "on request"
    if n % 2 == 0:
        amount = float(amount)
    return {
        "@type": "Offer",
        "price": amount,
        "priceCurrency": "EUR",
        "availability": f"https://schema.org/{word}",
        **more,
    }


def block(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'<script type="application/ld+json">{text}</script>\n'


def variant(n: int, size: str) -> dict[str, Any]:
    return {"@type": "Product", "sku": f"V-{n}-{size}", "size": size, "offers": offer(n, size)}


def described(n: int, ratings: int) -> dict[str, Any]:
    rating = {"@type": "AggregateRating", "ratingValue": 4.5, "reviewCount": ratings}
    return {
        "@context": "https://schema.org/",
        "@type": "ProductGroup",
        "productGroupID": f"G-{n}",
        "name": f"Jersey {n}",
        "aggregateRating": rating,
    }


def group(n: int, ratings: int) -> str:
    """A group with its variants inside."""
    return block(described(n, ratings) | {"hasVariant": [variant(n, size) for size in sizes(n)]})


def offers(n: int, ratings: int) -> str:
    """One product, with a new and a used one on offer."""
    used = offer(n, ONE_SIZE, price="1.00", itemCondition="https://schema.org/UsedCondition")
    whole = described(n, ratings) | {"@type": "Product", "sku": f"G-{n}"}
    del whole["productGroupID"]
    return block(
        whole | {"offers": [used, offer(n, ONE_SIZE, itemCondition="https://schema.org/NewCondition")]}
    )


def graph(n: int, ratings: int) -> str:
    """A graph, in which the group names its variants and they stand beside it."""
    names = {size: f"#variant-{size}" for size in sizes(n)}
    whole = described(n, ratings) | {"hasVariant": [{"@id": name} for name in names.values()]}
    variants = [variant(n, size) | {"@id": name} for size, name in names.items()]
    return block({"@graph": [{"@type": "WebSite", "name": "Shop"}, whole, *variants]})


def broken(n: int, ratings: int) -> str:
    """A first block that is nothing, and a second with a comment and commas too many."""
    whole = described(n, ratings) | {"hasVariant": [variant(n, size) for size in sizes(n)]}
    text = json.dumps(whole, indent=1).replace("\n}", ",\n}").replace("{\n", "{ /* made by hand */\n", 1)
    return block('{"@type": "BreadcrumbList", "itemListElement": [') + block(text)


def metas(n: int, ratings: int) -> str:
    """No JSON-LD, or none that can be read; OpenGraph says it all."""
    said = {
        "og:type": "product",
        "og:title": f"Jersey {n}",
        "product:retailer_item_id": f"G-{n}",
        "product:price:amount": price(n, ONE_SIZE),
        "product:price:currency": "EUR",
        "product:availability": "in stock" if in_stock(n, ONE_SIZE) else "out of stock",
    }
    tags = "".join(f'<meta property="{name}" content="{value}">\n' for name, value in said.items())
    return tags + (block("{'@type': Product, offers: <?php echo $offers ?>}") if n % 2 else "")


KINDS: tuple[Callable[[int, int], str], ...] = (group, offers, graph, broken, metas)


class Shop(SiteOfOurs):
    def __init__(self) -> None:
        self.looks = 0

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/":
            return self._list(int(asked.query.get("page", "0")))
        kind, _, number = asked.path.strip("/").partition("/")
        if kind == "jersey" and number.isdigit() and int(number) < PRODUCTS:
            n = int(number)
            self.looks += 1
            head = KINDS[n % len(KINDS)](n, 10 + n + self.looks)
            return html(f"Jersey {n}", f"<h1>Jersey {n}</h1>", head)
        return NOWHERE

    def _list(self, page: int) -> Answer:
        shown = range(page * PER_PAGE, min(PRODUCTS, (page + 1) * PER_PAGE))
        items = "".join(f'<li><a href="/jersey/{n}">Jersey {n}</a></li>' for n in shown)
        following = f'<a rel="next" href="/?page={page + 1}">next</a>' if shown.stop < PRODUCTS else ""
        return html("Jerseys", f'<ul class="jerseys">{items}</ul>{following}')

    def expected(self) -> Any:
        """Ratings are left out: they are what they were when somebody looked."""
        everything = [(n, size) for n in range(PRODUCTS) for size in sizes(n) if n != ON_REQUEST]
        return [["variant", [f"G-{n}", size], self._data(n, size)] for n, size in everything]

    def _data(self, n: int, size: str) -> dict[str, Any]:
        amount = (
            f"{float(price(n, size))}"
            if n % 2 == 0 and KINDS[n % len(KINDS)] is not metas
            else price(n, size)
        )
        return {
            "sku": f"G-{n}",
            "size": size,
            "title": f"Jersey {n}",
            "price": {"amount": amount, "currency": "EUR"},
            "in_stock": in_stock(n, size),
        }


if __name__ == "__main__":
    serve(Shop())
