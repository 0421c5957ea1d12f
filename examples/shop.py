"""A shop: listing pages that lead to products. SHOP_URL says where it is."""

import os

from limpet import Page, Record, Site

site = Site(
    "example-shop",
    seeds=[os.environ.get("SHOP_URL", "http://127.0.0.1:8000/list/0")],
    allow_private=True,  # it runs on this machine
)


@site.page("/list/{n}")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        yield page.link(card.css("a"), to=product, data={"list": page.params["n"]})


@site.page("/product/{n}")
def product(page: Page):
    # Where there is no .sku or no .price, this record is rejected and counted, and nothing else is lost.
    yield Record("product", key=page.one(".sku::text"), data={"price": page.one(".price::text")})
