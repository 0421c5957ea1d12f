"""A small shop, its handlers, and what is true of it."""

from __future__ import annotations

import re
from typing import Any

from crash.world import HOME

from limpet import Page, Record, Site


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
    return f"<html><body><ul>{cards}</ul>" + (
        f'<a class="next" href="{following}">next</a>' if following else ""
    )


def product(n: str, stock: str, *, broken: bool = False) -> str:
    flaw = '<i class="broken"></i>' if broken else ""
    return f'<html><body>{flaw}<b class="stock">{stock}</b><b class="seller">s{n}</b>'


def pages(*, listings: int = 2, each: int = 1, price: str = "1", stock: str = "5") -> dict[str, Any]:
    """Products 1, 2, ... on listings of `each`."""
    found: dict[str, Any] = {}
    for at in range(listings):
        numbers = [str(at * each + n + 1) for n in range(each)]
        following = f"/list/{at + 1}" if at + 1 < listings else ""
        found[f"/list/{at}"] = listing(dict.fromkeys(numbers, price), following)
        found |= {f"/product/{n}": product(n, stock) for n in numbers}
    return found


def records(found: dict[str, Any], *, versions: dict[str, int] | None = None) -> dict[tuple[str, str], Any]:
    """What is true of these pages. A product has a version for each of its two parts, unless `versions` says more."""
    parts: dict[str, dict[str, str]] = {}
    told: dict[tuple[str, str], Any] = {}
    for path, body in found.items():
        if isinstance(body, str) and path.startswith("/list/"):
            for n, price in re.findall(r'>(\d+)</a><b class="price">(\d+)<', body):
                parts.setdefault(n, {})["price"] = price
        elif isinstance(body, str) and path.startswith("/product/") and "stock" in body:
            n = path.rpartition("/")[2]
            parts.setdefault(n, {})["stock"] = re.findall(r'"stock">(\d+)<', body)[0]
            told["seller", f"s{n}"] = (1, {"of": n})
    for n, data in parts.items():
        told["product", n] = ((versions or {}).get(n, len(data)), data)
    return told


def states(found: dict[str, Any], **other: str) -> dict[str, str]:
    """How these pages end: a status of its own is a broken link."""
    return {path: "done" if isinstance(body, str) else "dead" for path, body in found.items()} | other
