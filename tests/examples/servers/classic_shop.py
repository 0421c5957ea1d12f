"""A shop as there are thousands: categories in pages of ten, products in one to three of them, and some oddities.

Product 31 is listed and gone (404); some have moved to a longer URL; some are sold out and have no price.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from serving import NOWHERE, Answer, Asked, SiteOfOurs, html, moved, serve

PRODUCTS = 90
PER_PAGE = 10
CATEGORIES: dict[str, Callable[[int], bool]] = {
    "lamps": lambda n: n % 4 == 0,
    "kettles": lambda n: n % 4 == 1,
    "jerseys": lambda n: n % 4 == 2,
    "books": lambda n: n % 4 == 3,
    "sale": lambda n: n % 3 == 0,
    "new": lambda n: n % 7 == 0,
}
GONE = 31  # still listed


def members(category: str) -> list[int]:
    return [n for n in range(PRODUCTS) if CATEGORIES[category](n)]


def sold_out(n: int) -> bool:
    return n % 13 == 5


def has_moved(n: int) -> bool:
    return n % 17 == 3


def cents(n: int) -> int:
    return 990 + n * 7919 % 200_000


def euros(n: int) -> str:
    """`1.299,00 €`"""
    whole = f"{cents(n) // 100:,}".replace(",", ".")
    return f"{whole},{cents(n) % 100:02d} €"


class Shop(SiteOfOurs):
    robots = "User-agent: *\nDisallow: /cart\n"

    def answer(self, asked: Asked) -> Answer:
        kind, _, rest = asked.path.strip("/").partition("/")
        if asked.path == "/":
            return self._front()
        if kind == "category" and rest in CATEGORIES:
            return self._category(rest, int(asked.query.get("page", "1")))
        number, _, slug = rest.partition("/")
        if kind == "product" and number.isdigit() and int(number) < PRODUCTS and int(number) != GONE:
            n = int(number)
            return self._product(n) if bool(slug) == has_moved(n) else moved(f"/product/{n}/now-here", 301)
        return NOWHERE

    def _front(self) -> Answer:
        items = "".join(f'<li><a href="/category/{name}">{name.title()}</a></li>' for name in CATEGORIES)
        return html("Shop", f'<nav><ul class="categories">{items}</ul><a href="/cart">Cart</a></nav>')

    def _category(self, name: str, page: int) -> Answer:
        shown = members(name)[(page - 1) * PER_PAGE : page * PER_PAGE]
        more = page * PER_PAGE < len(members(name))
        following = f'<a rel="next" href="/category/{name}?page={page + 1}">next</a>' if more else ""
        cards = "\n".join(map(self._card, shown))
        return html(name.title(), f"<h1>{name.title()}</h1>\n{cards}\n<nav>{following}</nav>")

    def _card(self, n: int) -> str:
        price = '<b class="sold-out">sold out</b>' if sold_out(n) else f'<b class="price">{euros(n)}</b>'
        return (
            f'<article class="card" data-sku="CS-{n:04d}"><h2><a href="/product/{n}">Thing no. {n}</a></h2> {price}'
            f' <a class="buy" href="/cart?add={n}">buy</a></article>'
        )

    def _product(self, n: int) -> Answer:
        return html(
            f"Thing no. {n}",
            f'<nav><a href="/">Shop</a></nav>\n<h1>Thing no. {n}</h1>\n<p class="sku">CS-{n:04d}</p>\n'
            f'<p class="weight">Weight: {1 + n % 9},{n % 10} kg</p>\n'
            f'<p>Here since <time datetime="2024-{1 + n % 12:02d}-{1 + n % 28:02d}">last year</time></p>\n',
        )

    def expected(self) -> Any:
        return [["product", f"CS-{n:04d}", self._data(n)] for n in range(PRODUCTS) if n != GONE]

    def categories_of_each(self) -> list[int]:
        """How many categories list each product."""
        return [sum(holds(n) for holds in CATEGORIES.values()) for n in range(PRODUCTS)]

    def _data(self, n: int) -> dict[str, Any]:
        amount = f"{cents(n) // 100}.{cents(n) % 100:02d}"
        return {
            "sku": f"CS-{n:04d}",
            "title": f"Thing no. {n}",
            "price": None if sold_out(n) else {"amount": amount, "currency": "EUR"},
            "weight": float(f"{1 + n % 9}.{n % 10}"),
            "since": f"2024-{1 + n % 12:02d}-{1 + n % 28:02d}",
            "categories": sorted(name.title() for name in CATEGORIES if CATEGORIES[name](n)),
        }


if __name__ == "__main__":
    serve(Shop())
