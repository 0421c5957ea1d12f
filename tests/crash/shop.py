"""A small shop, its handlers, and what is true of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from limpet import Page, Record, Site

from crash.world import HOME


def site(seeds: tuple[str, ...] = ("/list/0",), *, robots: bool = False, delay: float | None = None) -> Site:
    """Listings lead to products; a product is put together from both. A seller is on its product's page."""
    found = Site("shop", [HOME + seed for seed in seeds], robots=robots, delay=delay, allow_private=True)
    found.tune(threads=1, group=2)

    @found.page("/list/{n}")
    def listing(page: Page) -> Any:
        yield from page.links("a.next")
        for card in page.css("li"):
            yield page.link(card.css("a"), to=product)
            price = page.one(".price::text", of=card)
            yield Record("product", key=page.one("a::text", of=card), data={"price": price}, part="listing")

    @found.page("/product/{n}")
    def product(page: Page) -> Any:
        if page.css(".broken"):
            raise ValueError("the handler fails")
        yield Record("product", key=page.params["n"], data={"stock": page.one(".stock::text")}, part="detail")
        yield Record("seller", key=page.one(".seller::text"), data={"of": page.params["n"]})

    found.codes()  # here, once, and not in each forked child
    return found


def listing(prices: dict[str, str], following: str = "") -> str:
    cards = "".join(
        f'<li><a href="/product/{n}">{n}</a><b class="price">{price}</b></li>' for n, price in prices.items()
    )
    return f"<html><body><ul>{cards}</ul>" + (f'<a class="next" href="{following}">next</a>' if following else "")


def product(n: str, stock: str, *, broken: bool = False) -> str:
    flaw = '<i class="broken"></i>' if broken else ""
    return f'<html><body>{flaw}<b class="stock">{stock}</b><b class="seller">s{n}</b>'


def pages(*, listings: int = 2, each: int = 1, price: str = "1", stock: str = "5") -> dict[str, Any]:
    """Products 1, 2, ... on listings of `each`."""
    found: dict[str, Any] = {}
    for at in range(listings):
        numbers = [str(at * each + n + 1) for n in range(each)]
        following = f"/list/{at + 1}" if at + 1 < listings else ""
        found[f"/list/{at}"] = listing({n: price for n in numbers}, following)
        found |= {f"/product/{n}": product(n, stock) for n in numbers}
    return found


def records(found: dict[str, Any], *, versions: dict[str, int] | None = None) -> dict[tuple[str, str], Any]:
    """What is true of a shop whose pages all answer: product versions by number, 2 (its parts come one by one)."""
    told: dict[tuple[str, str], Any] = {}
    for path, body in found.items():
        if path.startswith("/product/") and isinstance(body, str):
            n = path.rpartition("/")[2]
            price = next(_between(b, f">{n}</a><b class=\"price\">") for b in found.values() if f">{n}</a>" in str(b))
            stock = _between(body, '"stock">')
            told["product", n] = ((versions or {}).get(n, 2), {"price": price, "stock": stock})
            told["seller", f"s{n}"] = (1, {"of": n})
    return told


def _between(text: str, before: str) -> str:
    return text.partition(before)[2].partition("<")[0]


def states(found: dict[str, Any], **other: str) -> dict[str, str]:
    return {path: "done" for path in found} | other


__all__ = ["Counter", "listing", "pages", "product", "records", "site", "states"]
