"""Microdata: the standard's algorithm, and what pages do with it."""

import pytest

from limpet import MissingValue, Page, clean
from limpet_store.items import Fetched


def page(html):
    return Page(Fetched("http://h.example/dir/p.html", 200, {"content-type": "text/html"}, html.encode()))


def item(inner, more=""):
    return f'<div itemscope itemtype="https://schema.org/Product" {more}>{inner}</div>'


def product(**properties):
    return [{"@type": "Product", **properties}]


ODDITIES = {
    "text with its whitespace made plain": (
        item("<h1 itemprop=name> Green\n <b>tea</b></h1>"),
        product(name="Green tea"),
    ),
    "a style and a script in a text": (
        item("<div itemprop=name><style>p{}</style>Tea<script>run()</script></div>"),
        product(name="Tea"),
    ),
    "one value is itself and several are a list": (
        item("<i itemprop=a>1</i><i itemprop=b>2</i><i itemprop=b>3</i>"),
        product(a="1", b=["2", "3"]),
    ),
    "an element with several names": (item('<i itemprop="a  b a">1</i>'), product(a="1", b="1")),
    "a meta": (item("<meta itemprop=sku content=' 7 '>"), product(sku="7")),
    "a content attribute of any element": (
        item('<span itemprop=price content="12.00">12 euros</span>'),
        product(price="12.00"),
    ),
    "a content attribute comes before a link's address": (
        item('<a itemprop=sku href="/x" content="7">x</a>'),
        product(sku="7"),
    ),
    "links and sources are absolute": (
        item(
            '<a itemprop=url href="../x?q=1">x</a><img itemprop=image src="//cdn.example/a.png">'
            '<link itemprop=availability href="https://schema.org/InStock"><object itemprop=data data="o"></object>'
        ),
        product(
            url="http://h.example/x?q=1",
            image="http://cdn.example/a.png",
            availability="https://schema.org/InStock",
            data="http://h.example/dir/o",
        ),
    ),
    "a base element": (
        '<base href="http://other.example/">' + item('<a itemprop=url href="x">x</a>'),
        product(url="http://other.example/x"),
    ),
    "an address that leads to no page": (
        item(
            '<a itemprop=mail href="mailto:a@h.example">x</a><a itemprop=a href="#x">x</a><a itemprop=b>x</a>'
            '<a itemprop=c href="http://[">x</a>'
        ),
        product(mail="mailto:a@h.example", a="http://h.example/dir/p.html#x", b="", c=""),
    ),
    "data, meter and time": (
        item(
            "<data itemprop=a value=1>one</data><meter itemprop=b value=0.5>half</meter>"
            "<time itemprop=c datetime=2025-03-04>4 March</time><time itemprop=d>2025</time>"
        ),
        product(a="1", b="0.5", c="2025-03-04", d="2025"),
    ),
    "an item as a value": (
        item(
            '<div itemprop=offers itemscope itemtype="http://schema.org/Offer"><i itemprop=price>1</i></div>'
            "<i itemprop=name>Tea</i>"
        ),
        product(offers={"@type": "Offer", "price": "1"}, name="Tea"),
    ),
    "the inner item's properties are not the outer one's": (
        item("<div itemscope><i itemprop=name>inner</i></div><i itemprop=name>outer</i>"),
        product(name="outer"),
    ),
    "several types": (
        '<p itemscope itemtype="http://schema.org/Product http://schema.org/Car"><i itemprop=a>1</i></p>',
        [{"@type": ["Product", "Car"], "a": "1"}],
    ),
    "a type of another vocabulary": (
        '<p itemscope itemtype="http://v.example/Product"><i itemprop="http://schema.org/name">1</i></p>',
        [{"@type": "http://v.example/Product", "name": "1"}],
    ),
    "an identifier": (
        item("", "itemid=urn:isbn:0-330-34032-8"),
        [{"@type": "Product", "@id": "urn:isbn:0-330-34032-8"}],
    ),
    "properties from elsewhere, in the page's order": (
        "<p id=before><i itemprop=a>1</i></p>"
        + item("<i itemprop=a>2</i>", 'itemref="after before"')
        + "<i id=after itemprop=a>3</i>",
        product(a=["1", "2", "3"]),
    ),
    "an itemref to nothing, to itself and to the same twice": (
        item("<i itemprop=a>1</i>", 'id=me itemref="none me x x"') + "<i id=x itemprop=b>2</i>",
        product(a="1", b="2"),
    ),
    "an itemref to an element that is inside already": (
        item("<p id=x><i itemprop=a>1</i></p>", "itemref=x"),
        product(a="1"),
    ),
    "an itemref to an id that occurs twice takes the first": (
        item("", "itemref=x") + "<p id=x><i itemprop=a>1</i></p><p id=x><i itemprop=a>2</i></p>",
        product(a="1"),
    ),
    "an itemref to an item": (
        item("", "itemref=x") + "<p id=x itemprop=brand itemscope><i itemprop=name>B</i></p>",
        product(brand={"name": "B"}),
    ),
    "an itemref does not reach into another item": (
        item("", "itemref=x")
        + "<p id=x><i itemprop=a>1</i><b itemprop=c itemscope><i itemprop=a>2</i></b></p>",
        product(a="1", c={"a": "2"}),
    ),
    "an item with itemprop that belongs to no item": (
        '<p itemprop=offers itemscope itemtype="http://schema.org/Product"><i itemprop=a>1</i></p>',
        product(a="1"),
    ),
    "a property without an item": ("<i itemprop=name>x</i>" + item("<i itemprop=a>1</i>"), product(a="1")),
    "attributes in capitals": (
        '<P ITEMSCOPE ITEMTYPE="https://schema.org/Product"><I ITEMPROP="a">1</I></P>',
        product(a="1"),
    ),
}


@pytest.mark.parametrize(("html", "expected"), ODDITIES.values(), ids=ODDITIES)
def test_products_are_found_in(html, expected):
    found = page(html).microdata("Product")
    assert found == expected
    assert found.errors == []
    for node in found:
        assert clean.tidy(node, "node") == node


def test_nested_items_are_found_by_type_and_top_items_without():
    view = page(
        item('<p itemprop=offers itemscope itemtype="http://schema.org/Offer">x</p>') + "<p itemscope></p>"
    )
    assert view.microdata("Offer") == [{"@type": "Offer"}]
    assert view.microdata() == [{"@type": "Product", "offers": {"@type": "Offer"}}, {}]


def test_an_item_inside_itself_is_left_out_and_said():
    found = page(item("<p itemprop=a itemscope itemref=me></p>", "id=me itemprop=self")).microdata("Product")
    assert found == [{"@type": "Product", "a": {}}]
    assert found.errors == ["microdata: an item that is inside itself"]


def test_a_missing_item_rejects_as_a_missing_value_does():
    with pytest.raises(MissingValue, match=r"^no Product \(microdata\) in this page$"):
        page("<p>").microdata("Product").one()
