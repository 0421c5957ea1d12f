"""A shop whose pages carry JSON-LD for search engines: what it says of a product and its sizes is what we read.

SHOP_URL says where the shop is. JSON-LD is written by hand as often as by programs: limpet reads past trailing commas,
comments and the like, and leaves out a block that is beyond repair.
"""

import os
from dataclasses import dataclass

from limpet import Page, Site, values
from limpet.values import Price

SHOP = os.environ.get("SHOP_URL", "http://127.0.0.1:8000")

site = Site("jsonld-shop", seeds=[f"{SHOP}/"], allow_private=True)


# A jersey comes in sizes, so that two fields make the key. Ratings are kept, but a new one is no new version.
@site.record("variant", key=["sku", "size"], volatile=["ratings"])
@dataclass
class Variant:
    sku: str
    size: str
    title: str
    price: Price
    in_stock: bool
    ratings: int | None = None


@site.page("/")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    yield from page.links(".jerseys a")


@site.page("/jersey/{n}")
def jersey(page: Page):
    found = page.jsonld("ProductGroup", "Product")
    whole = found.one(None)
    if whole is None:  # none, or none that can be read: found.errors says which
        yield from_opengraph(page)
        return
    # A group holds its variants, or names them by @id; a product without any is its own.
    for variant in map(found.resolve, whole.get("hasVariant", [whole])):
        offer = new_one(variant["offers"])
        yield Variant(
            sku=whole.get("productGroupID") or whole["sku"],
            size=variant.get("size", "one size"),
            title=whole["name"],
            price=values.price(offer["price"], currency=offer["priceCurrency"]),
            in_stock=offer["availability"].endswith("InStock"),
            ratings=whole["aggregateRating"]["reviewCount"],
        )


def new_one(offers):
    """Of one offer or several, the one that is not used."""
    several = offers if isinstance(offers, list) else [offers]
    return next(offer for offer in several if not offer.get("itemCondition", "").endswith("UsedCondition"))


def from_opengraph(page: Page):
    said = page.opengraph()
    return Variant(
        sku=said["product:retailer_item_id"],
        size="one size",
        title=said["og:title"],
        price=values.price(said["product:price:amount"], currency=said["product:price:currency"]),
        in_stock=said["product:availability"] == "in stock",
    )
