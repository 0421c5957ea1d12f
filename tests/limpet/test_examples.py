"""The examples, run on the pages they are written for."""

from pathlib import Path

import pytest

from limpet.load import load_site
from limpet_store.items import Fetched, Link, Record

EXAMPLES = Path(__file__).parents[2] / "examples"


def extract(site, url, body, content_type="text/html"):
    headers = {"content-type": content_type}
    return site.extract(Fetched(url, 200, headers, body.encode(), handler=site.match(url)))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_loads_and_knows_its_seeds(path):
    site = load_site(path)
    assert site.seeds
    assert all(site.match(seed) for seed in site.seeds)


def test_there_are_at_least_three():
    assert len(list(EXAMPLES.glob("*.py"))) >= 3


def test_the_shop_goes_from_listings_to_products():
    site = load_site(EXAMPLES / "shop.py")
    cards = "<li><a href=/product/1>1</a><li><a href=/product/2>2</a><li>sold out"
    body = f"<ul>{cards}</ul><a rel=next href=/list/1>n</a>"
    found = extract(site, "http://127.0.0.1:8000/list/0", body)
    assert list(found.links) == [
        Link("http://127.0.0.1:8000/list/1"),
        Link("http://127.0.0.1:8000/product/1", "product", {"list": "0"}),
        Link("http://127.0.0.1:8000/product/2", "product", {"list": "0"}),
    ]
    assert found.dropped == {"no link": 1}
    body = "<p class=sku>S-1</p><p class=price> 5.00 </p>"
    found = extract(site, "http://127.0.0.1:8000/product/1", body)
    assert list(found.records) == [Record("product", "S-1", {"price": "5.00"})]


def test_the_docs_tree_records_html_pages_and_follows_their_links():
    site = load_site(EXAMPLES / "docs_tree.py")
    url = "http://127.0.0.1:8000/a/index.html"
    found = extract(site, url, "<title> The\n docs </title><a href=../b.html#x><a href=c.png><a href=#top>")
    (record,) = found.records
    assert (record.type, record.key, record.data["title"], len(record.data["sha256"])) == (
        "page",
        url,
        "The docs",
        64,
    )
    assert [link.url for link in found.links] == [
        "http://127.0.0.1:8000/b.html#x",
        "http://127.0.0.1:8000/a/c.png",
    ]
    assert not extract(site, "http://127.0.0.1:8000/a/c.png", "<a href=x>", "image/png").links


def test_a_record_comes_from_a_listing_part_and_a_detail_part():
    site = load_site(EXAMPLES / "listing_and_detail.py")
    card = "<article data-sku=S-1><h2><a href=/item/S-1>One</a></h2><b class=price>5</b></article>"
    body = card + "<a rel=next href=?page=2>"
    found = extract(site, "http://127.0.0.1:8000/catalogue", body)
    assert list(found.records) == [Record("item", "S-1", {"price": "5"}, "listing")]
    assert [link.url for link in found.links] == [
        "http://127.0.0.1:8000/item/S-1",
        "http://127.0.0.1:8000/catalogue?page=2",
    ]
    found = extract(site, "http://127.0.0.1:8000/item/S-1", "<h1>One</h1>")
    assert list(found.records) == [Record("item", "S-1", {"title": "One"}, "detail")]
