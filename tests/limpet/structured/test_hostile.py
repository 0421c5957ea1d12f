"""Pages made to hang, exhaust or crash their reader: each ends soon, with what is good in them, and says so.

What would be quadratic or worse does not end within a test run here, so that no time is asserted.
"""

import json

import pytest

from limpet import MissingValue, Page
from limpet_store.items import Fetched

TEA = '{"@type": "Product", "name": "Tea"}'
GOOD = f'<script type="application/ld+json">{TEA}</script>'
MUCH = 150_000


def page(html):
    return Page(Fetched("http://h.example/p.html", 200, {"content-type": "text/html"}, html.encode()))


BLOCKS = {
    "lists in lists": "[" * 10 * MUCH,
    "lists in lists that end": "[" * 500 + "]" * 500,
    "objects in objects": '{"a":' * MUCH,
    "objects in objects that need mending": "{a:" * MUCH,
    "a string without an end": '"' + "x" * MUCH,
    "many escapes in a string without an end": '{"a": "' + r"\a" * MUCH,
    "comments without an end": "/*" * MUCH,
    "comments, then nothing": "/**/" * MUCH + "x",
    "HTML comments without an end": "<!--" * MUCH + "x",
    "line comments": "//<!--" * MUCH + "x",
    "blanks, then nothing": " " * 10 * MUCH + "x",
    "too much to mend": "[" + "a:1," * MUCH,
    "a long list that needs mending": "[" + "'a'," * 10 * MUCH + "x",
    "signs of numbers": "[" + "-" * MUCH,
    "a name without an end": "[" + "a" * MUCH,
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_a_block_ends_at_once_that_has(text):
    found = page(f'<script type="application/ld+json">{text}</script>{GOOD}').jsonld("Product")
    assert found == [json.loads(TEA)]
    assert len(found.errors) == 1
    assert len(found.errors[0]) < 200


def test_numbers_of_any_length_are_read():
    view = page(
        f'<script type="application/ld+json">{{"@type":"A","a":{"9" * MUCH},"b":0x{"f" * MUCH}}}</script>'
    )
    assert view.jsonld() == [{"@type": "A", "a": None, "b": None}]


def test_a_million_blocks_are_too_many():
    found = page(GOOD * 50_000).jsonld("Product")
    assert len(found) == 10_000
    assert found.errors == ["JSON-LD: more than 10000 blocks"]


def test_many_small_broken_blocks_share_what_one_page_may_cost():
    found = page(f'<script type="application/ld+json">[{"{a:1}," * 2_000}x</script>' * 400 + GOOD).jsonld()
    assert len(found.errors) >= 400
    assert "too much to mend" in found.errors[-1]


def test_references_that_go_in_a_circle_end():
    nodes = page(
        '<script type="application/ld+json">[{"@id":"#a","x":{"@id":"#b"}},{"@id":"#b","x":{"@id":"#a"}}]</script>'
    ).jsonld()
    node = nodes[0]
    for _ in range(10):
        node = nodes.resolve(node["x"])
    assert node is nodes[0]


@pytest.mark.parametrize("value", ["/*", "{a:", "[1,", "//", "1/*", "JSON.parse('"])
def test_a_name_that_is_assigned_very_often_ends(value):
    with pytest.raises(MissingValue):
        page(f"<script>{f's={value} ' * MUCH}</script>").embedded("s")


def test_items_that_refer_to_items_twice_do_not_double_without_end():
    items = "".join(
        f"<b id=b{n}><i itemprop=a itemscope itemref=b{n + 1}></i><i itemprop=c itemscope itemref=b{n + 1}></i></b>"
        for n in range(40)
    )
    found = page("<p itemscope itemref=b0></p>" + items).microdata()
    assert "microdata: too much of it in one page" in found.errors


def test_items_in_items_end():
    view = page("<div itemscope itemprop=a>" * 200 + "x" + "</div>" * 200)
    assert "microdata: items nested too deeply" in view.microdata().errors


def test_texts_in_texts_end():
    view = page("<p itemscope>" + "<b itemprop=a>" * 200 + "x" * MUCH + "</b>" * 200 + "</p>")
    assert view.microdata().errors == ["microdata: too much of it in one page"]


def test_an_item_of_very_many_properties_is_read():
    view = page("<div itemscope itemtype='A'>" + "<i itemprop=a>1</i>" * 50_000 + "</div>")
    assert len(view.microdata("A").one()["a"]) == 50_000


def test_very_many_metas_are_cut():
    found = page("".join(f'<meta property="og:image:{n}" content="{n}">' for n in range(50_000))).opengraph()
    assert len(found) == 1_000
