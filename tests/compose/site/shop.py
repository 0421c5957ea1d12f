"""The demo shop, asked four times a second: slow enough to be killed in the middle."""

import os

from limpet import Page, Record, Site

site = Site("round", seeds=[os.environ["SHOP_URL"]], allow_private=True, delay=0.25)
site.tune(lease=5)


@site.page("/list/{n}")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        yield page.link(card.css("a"), to=product)


@site.page("/product/{n}")
def product(page: Page):
    data = {name: page.one(f".{name}::text") for name in ("name", "price")}
    yield Record("product", key=page.one(".sku::text"), data=data)
