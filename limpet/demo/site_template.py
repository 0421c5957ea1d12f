"""The site file that `limpet demo` writes beside its database: what a user's own would look like."""

from __future__ import annotations

from string import Template

_SITE = Template('''\
"""The demo shop: listings that link products. Yours would look the same."""

from limpet import Page, Record, Site

site = Site("demo-shop", seeds=["$seed"], allow_private=True$limit)
$tune

@site.page("/list/{n}")
def listing(page: Page):
    yield from page.links("a[rel=next]")
    for card in page.css("li"):
        yield page.link(card.css("a"), to=product)


@site.page("/product/{n}")
def product(page: Page):
    yield Record(
        "product",
        key=page.one(".sku::text"),
        data={"name": page.one(".name::text"), "price": page.one(".price::text"), "url": page.url},
    )
''')


def site_file(seed: str, *, lease: int | None = 3, max_in_flight: int | None = None) -> str:
    """The text of a site file that starts at `seed`.

    `lease` is in seconds, 3 as in the published kill test; None leaves the engine's default, as it does for
    `max_in_flight`.
    """
    limit = "" if max_in_flight is None else f", max_in_flight={max_in_flight}"
    tune = "" if lease is None else f"site.tune(lease={lease})\n"
    return _SITE.substitute(seed=seed, limit=limit, tune=tune)
