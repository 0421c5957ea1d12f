"""One record from two pages: the listing knows the price, the detail page knows the title.

Each page contributes a part under the same type and key; the record is the merge of its parts, and its
version steps when the merge changes. Either page may come first, and come again alone.
"""

import os

from limpet import Page, Record, Site

site = Site(
    "listing-and-detail",
    seeds=[os.environ.get("CATALOGUE_URL", "http://127.0.0.1:8000/catalogue")],
    allow_private=True,  # it runs on this machine
)


@site.page("/catalogue")
@site.page("/catalogue?page={n:int}")
def listing(page: Page):
    for card in page.css("article"):
        sku = page.one("::attr(data-sku)", of=card)
        yield Record("item", key=sku, data={"price": page.one(".price", of=card)}, part="listing")
        yield page.link(card.css("h2 a"), to=detail)
    yield from page.links("a[rel=next]")


@site.page("/item/{sku}")
def detail(page: Page):
    yield Record("item", key=page.params["sku"], data={"title": page.one("h1")}, part="detail")
