"""What all kinds of structured data have in common."""

import subprocess
import sys

from limpet import Page, Record, Site
from limpet.structured import Found, survey
from limpet_store.items import Fetched

SHOP = """<html><head><meta property="og:type" content="product"><meta property="og:title" content="Tea">
<script type="application/ld+json">{"@type": "WebPage", "mainEntity": {"@type": "Product", "sku": "7"}}</script>
<script type="application/ld+json">{broken</script>
<script id="__NEXT_DATA__" type="application/json">{"sku": "7"}</script>
<script id="bad" type="application/json">{</script>
<script>window.__STATE__ = {"a": 1}; window.other = later();</script></head>
<body><div itemscope itemtype="https://schema.org/Product"><i itemprop="name">Tea</i></div></body></html>"""


def fetched(html, handler=None):
    return Fetched("http://h.example/p", 200, {"content-type": "text/html"}, html.encode(), handler)


def test_a_survey_lists_everything_that_a_page_says_about_itself():
    product = {"@type": "Product", "sku": "7"}
    assert survey(Page(fetched(SHOP))) == [
        Found("jsonld", "WebPage", {"@type": "WebPage", "mainEntity": product}),
        Found("jsonld", "Product", product),
        Found("microdata", "Product", {"@type": "Product", "name": "Tea"}),
        Found("embedded", "__NEXT_DATA__", {"sku": "7"}),
        Found("embedded", "__STATE__", {"a": 1}),
        Found("opengraph", "product", {"og:type": "product", "og:title": "Tea"}),
    ]


def test_a_survey_of_a_page_without_any_is_empty():
    assert survey(Page(fetched("<p>x"))) == survey(Page(fetched(""))) == []


def test_what_a_handler_takes_from_a_page_without_it_is_a_rejection():
    site = Site("shop", seeds=["http://h.example/p"])

    @site.page("/p")
    def detail(page):
        yield Record("seen", "1")
        yield Record("product", "7", page.jsonld("Product").one())

    good = site.extract(fetched(SHOP, "detail"))
    assert [record.type for record in good.records] == ["seen", "product"]
    bad = site.extract(fetched('<script type="application/ld+json">{broken</script>', "detail"))
    assert [record.type for record in bad.records] == ["seen"]
    assert [rejection.reason for rejection in bad.rejections] == [
        "detail ended early: no Product (JSON-LD) in this page; "
        "JSON-LD block 1: line 1 column 8: the text ends too early"
    ]


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys, limpet; from limpet_store.items import Fetched;"
        "page = limpet.Page(Fetched('http://h.example/', 200, {}, b'<p>x'));"
        "page.one('p'); assert not [name for name in sys.modules if name.startswith('limpet.structured')];"
        "page.opengraph(); assert 'limpet.structured.microdata' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
