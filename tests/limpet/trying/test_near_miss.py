"""What is told of a selector that finds nothing."""

from __future__ import annotations

from typing import Any

import pytest

from limpet import markup
from limpet.trying.near_miss import near_miss

DOCUMENT = b"""<html><body><ul class="product-list">
<li class="card product"><a href="/p/1" rel="next">A</a><span class="price">1</span><b itemprop="price">2</b></li>
<li class="card product"><span class="price"><i>2</i></span></li></ul>
<h1 id="main-title">x</h1><p class="empty"> </p><div class="a"><em class="in">1</em></div></body></html>"""


@pytest.fixture(scope="module")
def root() -> Any:
    return markup.parse(DOCUMENT)


@pytest.mark.parametrize(
    ("css", "told", "selector"),
    [
        (".prod-price", ".price matches 2", ".price"),
        (".prod-price::text", ".price matches 2", ".price::text"),
        (".Price", ".price matches 2", ".price"),
        ("li.crad .price", "li.card .price matches 2", "li.card .price"),
        ("ul > .price", "ul .price matches 2", "ul .price"),
        ("div.card .price", ".card .price matches 2", ".card .price"),
        ("ol li .price", "li .price matches 2", "li .price"),
        ("li:nth-child(9) .price", "li .price matches 2", "li .price"),
        ("#title", "#main-title matches 1", "#main-title"),
        ("a.next", 'a[rel="next"] matches 1', 'a[rel="next"]'),
        ("[itemprop=prise]", '[itemprop="price"] matches 1', '[itemprop="price"]'),
        (".prise, .nothing", ".price matches 2", ".price"),
        (".a .b > c, d", "nothing below .a, which matches 1", ""),
        ("a::attr(data-x)", "a matches 1, without the attribute data-x; it has: href, rel", ""),
        ("p.empty", "p.empty matches 1, without any text", ""),
        ("div.a::text", "div.a matches 1; the text lies in its children: leave ::text away", "div.a"),
    ],
)
def test_the_nearest_that_finds_something_is_told(root: Any, css: str, told: str, selector: str) -> None:
    found = near_miss(root, css)

    assert found is not None
    assert (found.text, found.selector) == (told, selector)


@pytest.mark.parametrize("css", [".nope", "zz9", ".q .b > c, d", "table td", "not("])
def test_nothing_is_told_where_nothing_is_near(root: Any, css: str) -> None:
    assert near_miss(root, css) is None


def test_what_is_elsewhere_on_the_page_is_told_of_a_search_below_an_element(root: Any) -> None:
    (card,) = markup.select("li:nth-child(2)", False)(root)
    found = near_miss(root, "a", below=card)

    assert found is not None
    assert found.text == "a matches 1 in the whole page, none below the element of `of=`"


def test_a_selector_that_was_told_finds_what_was_said(root: Any) -> None:
    for css in (".prod-price", "li.crad .price", "a.next", "#title"):
        found = near_miss(root, css)
        assert found is not None
        assert found.text.endswith(f" {len(markup.select(found.selector, False)(root))}")
