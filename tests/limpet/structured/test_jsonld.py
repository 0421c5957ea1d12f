"""JSON-LD as pages really have it: each row is an oddity that is out there, and what is made of it."""

import pytest

from limpet import MissingValue, Page, clean
from limpet_store.items import Fetched


def page(html, content_type="text/html; charset=utf-8"):
    return Page(Fetched("http://h.example/dir/p.html", 200, {"content-type": content_type}, html.encode()))


def block(text, kind="application/ld+json"):
    return f'<script type="{kind}">{text}</script>'


TEA = '{"@type": "Product", "name": "Tea"}'
READ = [{"@type": "Product", "name": "Tea"}]

ODDITIES = {
    "a plain block": (block(TEA), READ),
    "a list of nodes at the top": (block(f'[{TEA}, {{"@type": "Brand"}}]'), READ),
    "a list in a list": (block(f"[[{TEA}]]"), READ),
    "a graph": (block(f'{{"@context": "https://schema.org", "@graph": [{TEA}]}}'), READ),
    "a graph that is one object and no list": (block(f'{{"@graph": {TEA}}}'), READ),
    "a graph in a graph": (block(f'{{"@graph": [{{"@graph": [{TEA}]}}]}}'), READ),
    "a graph that holds false and null beside nodes": (
        block(f'{{"@graph": [false, {TEA}, null, "x"]}}'),
        READ,
    ),
    "nodes on two blocks": (block('{"@type": "Brand"}') + block(TEA), READ),
    "an empty block beside it": (block("") + block(" \n") + block(TEA), READ),
    "a block of null beside it": (block("null") + block("false;") + block(TEA), READ),
    "a type attribute in capitals with a charset": (block(TEA, "Application/LD+JSON; charset=utf-8"), READ),
    "a type attribute with spaces": (block(TEA, " application/ld+json "), READ),
    "a type attribute written in entities": (block(TEA, "application&#x2F;ld&#x2B;json"), READ),
    "a type as full IRI": (
        block('{"@type": "http://schema.org/Product"}'),
        [{"@type": "http://schema.org/Product"}],
    ),
    "a type with a prefix": (block('{"@type": "schema:Product"}'), [{"@type": "schema:Product"}]),
    "a type in lower case": (block('{"@type": "product"}'), [{"@type": "product"}]),
    "several types": (block('{"@type": ["Car", "Product"]}'), [{"@type": ["Car", "Product"]}]),
    "a type that is no string": (block('{"@type": {"x": 1}}') + block('{"@type": null}') + block(TEA), READ),
    "the product is the page's main entity": (block(f'{{"@type": "WebPage", "mainEntity": {TEA}}}'), READ),
    "the product stands in a list of items": (
        block(f'{{"@type": "ItemList", "itemListElement": [{{"@type": "ListItem", "item": {TEA}}}]}}'),
        READ,
    ),
    "variants of a group": (block(f'{{"@type": "ProductGroup", "hasVariant": [{TEA}]}}'), READ),
    "the page's product comes before one that an earlier block only mentions": (
        block('{"@type": "Store", "offers": [{"itemOffered": {"@type": "Product"}}]}') + block(TEA),
        [*READ, {"@type": "Product"}],
    ),
    "a product within a product": (
        block('{"@type": "Product", "isRelatedTo": {"@type": "Product", "name": "Pot"}}'),
        [
            {"@type": "Product", "isRelatedTo": {"@type": "Product", "name": "Pot"}},
            {"@type": "Product", "name": "Pot"},
        ],
    ),
    "wrapped in an HTML comment": (block(f"<!--\n{TEA}\n-->"), READ),
    "a comment of a plugin around it": (block(f"<!-- SEO plugin 1.2 -->{TEA}<!-- / SEO plugin -->"), READ),
    "wrapped in CDATA": (block(f"<![CDATA[{TEA}]]>"), READ),
    "CDATA behind line comments": (block(f"//<![CDATA[\n{TEA}\n//]]>"), READ),
    "CDATA behind line comments, all on one line": (block(f"//<![CDATA[ {TEA} //]]>"), READ),
    "CDATA in block comments": (block(f"/*<![CDATA[*/{TEA}/*]]>*/"), READ),
    "a CDATA end whose bracket was escaped": (block(f"// <![CDATA[\n{TEA}\n// ]]&gt;"), READ),
    "comments of JavaScript inside": (
        block('{"@type": "Product", // the type\n"name": /* en */ "Tea"}'),
        READ,
    ),
    "two slashes in a string are no comment": (
        block('{"@type": "Product", "url": "http://h.example/*1*/",}'),
        [{"@type": "Product", "url": "http://h.example/*1*/"}],
    ),
    "trailing commas": (
        block('{"@type": "Product", "image": ["a", "b",],}'),
        [{"@type": "Product", "image": ["a", "b"]}],
    ),
    "two commas where a template left a member out": (block('{"@type": "Product",, "name": "Tea"}'), READ),
    "a semicolon at the end": (block(TEA + ";"), READ),
    "a bracket too many at the end": (block(TEA + "}"), READ),
    "two objects without anything between": (block('{"@type": "Brand"}' + TEA), READ),
    "two objects with a comma between": (block('{"@type": "Brand"},\n' + TEA), READ),
    "a forgotten comma between members": (block('{"@type": "Product"\n"name": "Tea"}'), READ),
    "a forgotten comma between objects": (block(f'[{{"@type": "Brand"}} {TEA}]'), READ),
    "a value that the template had nothing for": (
        block('{"@type": "Product", "price": , "sku": }'),
        [{"@type": "Product", "price": None, "sku": None}],
    ),
    "a line break in a string": (
        block('{"@type": "Product", "description": "one\n\ttwo"}'),
        [{"@type": "Product", "description": "one\n\ttwo"}],
    ),
    "an escaped apostrophe": (
        block(r'{"@type": "Product", "name": "Earl\'s"}'),
        [{"@type": "Product", "name": "Earl's"}],
    ),
    "all quotes as entities": (block(TEA.replace('"', "&quot;")), READ),
    "all quotes as numbered entities": (block(TEA.replace('"', "&#34;")), READ),
    "entities in a good block stay, as they may be meant": (
        block('{"@type": "Product", "name": "A &amp; B &quot;C&quot;"}'),
        [{"@type": "Product", "name": "A &amp; B &quot;C&quot;"}],
    ),
    "a byte order mark in the block": (block("\ufeff" + TEA), READ),
    "JavaScript quotes and bare keys": (block("{'@type': 'Product', name: 'Tea'}"), READ),
    "the words of another language": (
        block('{"@type": "Product", "a": True, "b": None, "c": undefined}'),
        [{"@type": "Product", "a": True, "b": None, "c": None}],
    ),
    "numbers that are none": (
        block('{"@type": "Product", "a": NaN, "b": [-Infinity, 1e999]}'),
        [{"@type": "Product", "a": None, "b": [None, None]}],
    ),
    "a code with a leading zero and no quotes": (
        block('{"@type": "Product", "gtin13": 0012345678905}'),
        [{"@type": "Product", "gtin13": "0012345678905"}],
    ),
    "the same key twice: the last counts": (
        block('{"@type": "Brand", "@type": "Product", "name": "Pot", "name": "Tea"}'),
        READ,
    ),
    "half an emoji, cut by the server": (
        block(r'{"@type": "Product", "name": "Tea \ud83c"}'),
        [{"@type": "Product", "name": "Tea \ufffd"}],
    ),
    "a whole emoji in escapes, in a block to mend": (
        block(r'{"@type": "Product", "name": "\ud83c\udf75",}'),
        [{"@type": "Product", "name": "🍵"}],
    ),
    "an escaped NUL": (
        block(r'{"@type": "Product", "name": "Tea\u0000"}'),
        [{"@type": "Product", "name": "Tea\ufffd"}],
    ),
    "JSON in a string of JSON": (block(r'"{\"@type\": \"Product\", \"name\": \"Tea\"}"'), READ),
    "markup in a string": (
        block('{"@type": "Product", "name": "<b>Tea<\\/b> <i>x</i>"}'),
        [{"@type": "Product", "name": "<b>Tea</b> <i>x</i>"}],
    ),
    "a block in the middle of the body": (f"<body><div><p>x</p>{block(TEA)}</div></body>", READ),
}

BROKEN = {
    "a quote in a quoted string": '{"@type": "Product", "name": "5" pipe"}',
    "a text that was cut": '{"@type": "Product", "name": "Te',
    "an object that was cut": '{"@type": "Product", "name": "Tea"',
    "an object that ends too early": '{"@type": "Product"}, "name": "Tea"}',
    "an error message of the server": 'Warning: Undefined variable $price {"@type": "Product"}',
    "a template that was not filled": '{"@type": "Product", "name": {{ product.name }}}',
    "an expression": '{"@type": "Product", "name": "T" + "ea"}',
    "an assignment": 'window.data = {"@type": "Product"}',
    "a broken escape": r'{"@type": "Product", "name": "\u12"}',
    "a number with commas": '{"@type": "Product", "price": 1,299.00}',
    "a good object before a broken one": TEA + '{"name": x}',
}


@pytest.mark.parametrize(("html", "expected"), ODDITIES.values(), ids=ODDITIES)
def test_products_are_found_in(html, expected):
    found = page(html).jsonld("Product")
    assert found == expected
    assert found.errors == []
    for node in found:
        assert clean.tidy(node, "node") == node


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_block_costs_itself_alone_when_it_is(text):
    found = page(block(text) + block(TEA)).jsonld("Product")
    assert found == READ
    assert len(found.errors) == 1
    assert found.errors[0].startswith("JSON-LD block 1: line 1 column ")


def test_without_a_type_all_top_nodes_are_given():
    view = page(
        block('{"@graph": [{"@type": "A", "x": {"@type": "B"}}, {"name": "no type"}]}') + block("[3]")
    )
    assert view.jsonld() == [{"@type": "A", "x": {"@type": "B"}}, {"name": "no type"}]


def test_several_types_may_be_asked_for_and_a_subtype_is_none_of_them():
    view = page(block('[{"@type": "Article"}, {"@type": "NewsArticle"}, {"@type": "BlogPosting"}]'))
    assert [node["@type"] for node in view.jsonld("Article", "BlogPosting")] == ["Article", "BlogPosting"]
    assert view.jsonld("https://schema.org/NewsArticle") == [{"@type": "NewsArticle"}]


def test_what_a_context_says_is_no_node():
    assert page(block('{"@context": {"x": {"@type": "Product"}}, "@type": "A"}')).jsonld("Product") == []


def test_a_page_whose_blocks_are_broken_differs_from_a_page_without_any():
    without, broken = page("<p>").jsonld("Product"), page(block("{oops")).jsonld("Product")
    assert without == broken == []
    assert without.errors == []
    assert len(broken.errors) == 1


def test_one_is_the_first_node_or_a_missing_value_that_says_why():
    assert page(block(TEA)).jsonld("Product").one() == READ[0]
    assert page("<p>").jsonld("Product").one(None) is None
    with pytest.raises(MissingValue, match=r"^no Product \(JSON-LD\) in this page$"):
        page("<p>").jsonld("Product").one()
    with pytest.raises(
        MissingValue, match=r"no Product or Offer .*; JSON-LD block 1: line 2 column 3: a name"
    ):
        page(block("{a:\n  oops}")).jsonld("Product", "Offer").one()


def test_a_reference_is_followed_one_step_and_a_cycle_does_not_grow():
    view = page(
        block(
            '{"@graph": [{"@id": "#a", "@type": "A", "b": {"@id": "#b"}}, {"@id": "#b", "a": {"@id": "#a"}}]}'
        )
    )
    nodes = view.jsonld("A")
    second = nodes.resolve(nodes[0]["b"])
    assert second == {"@id": "#b", "a": {"@id": "#a"}}
    assert nodes.resolve(second["a"]) is nodes[0]
    for other in ({"@id": "#nowhere"}, {"@id": "#a", "name": "says more"}, {"@id": ["#a"]}, "text", None):
        assert nodes.resolve(other) is other


def test_blocks_are_found_in_xhtml_and_in_xml():
    for kind in ("application/xhtml+xml", "application/xml"):
        view = page(f'<html><script type="application/ld+json"><![CDATA[{TEA}]]></script></html>', kind)
        assert view.jsonld("Product") == READ
