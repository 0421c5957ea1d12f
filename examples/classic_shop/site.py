"""A classic HTML shop: categories lead to products, and a product is known from two kinds of pages.

The cards in the categories have its price, its own page the rest. SHOP_URL says where the shop is.
"""

import os
from dataclasses import dataclass
from datetime import date

from limpet import Page, Site
from limpet.values import Price

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:8000")

site = Site("classic-shop", seeds=[f"{SHOP}/"], allow_private=True)  # it runs on this machine; yours does not


# Each page contributes a part, and nobody is shown a product before both are there.
@site.record("product", key="sku", part="card", requires=["card", "detail"])
@dataclass
class Card:
    sku: str
    price: Price | None  # None: sold out


@site.record("product", key="sku", part="detail", requires=["card", "detail"])
@dataclass
class Detail:
    sku: str
    title: str
    weight: float  # kg
    since: date
    categories: list[str]


@site.page("/")
def front(page: Page):
    yield from page.links(".categories a", priority=1)


@site.page("/category/{name}")
def category(page: Page):
    # Categories go first: a product that is read before its last category is known has to be read again.
    yield from page.links("a[rel=next]", priority=1)
    name = page.one("h1")
    for card in page.css(".card"):
        # No default: a card without a price that is not sold out is a mistake, and is rejected.
        sold_out = card.css(".sold-out")
        price = None if sold_out else page.price(".price", of=card, decimal=",")
        yield Card(page.one("::attr(data-sku)", of=card), price)
        yield page.link(card.css("h2 a"), to=product, data=name, merge="list")


@site.page("/product/{n}")
@site.page("/product/{n}/{slug}")  # where some have moved to
def product(page: Page):
    yield Detail(
        sku=page.one(".sku"),
        title=page.one("h1"),
        weight=page.number(".weight", match="Weight: (.+) kg", decimal=","),
        since=page.date("time"),
        categories=page.data,  # what each category handed down
    )
