"""A declared site reads pages as its Python twin does: each key of the format, once."""

import inspect
import json
import re
from pathlib import Path

import pytest

from limpet import Site, SiteError
from limpet.declared import convert, fields, follows, pages, places, records
from limpet.demo.serving import Shop
from limpet.load import load_site
from limpet_store.items import Fetched, Link, Record
from limpet_store.secret import Secret

ROOT = Path(__file__).parents[2]
SITE = '[site]\nname = "t"\nseeds = ["http://h.example/p/1"]\n'
HTML = """<html><head><base href="/shop/">
<script type="application/ld+json">{"@type": "Product", "sku": "J-1", "offers": [{"currency": "USD", "price": 9.5},
  {"currency": "EUR", "price": "12.00"}]}</script>
<script type="application/ld+json">{broken</script>
<script id="__STATE__" type="application/json">{"sku": "E-1", "stock": 3, "open": true, "tags": ["a", "b"]}</script>
<script>window.bad = {"sku": fetch()};</script>
<meta property="og:title" content="A lamp"></head><body>
<div itemscope itemtype="https://schema.org/Product"><b itemprop="sku">M-1</b></div>
<h1> A  lamp </h1><p class=sku>S-1</p><p class=price>1.299,00 €</p><p class=stock>only 7 left</p><p class=half>2.5</p>
<time datetime="2025-03-04">yesterday</time><p class=day>03.04.2025</p><p class=blank> </p>
<img src="a.png"><img src="data:image/png;base64,AA"><a class=more href="../next?x=1">more</a>
<ul><li class=card id=c1><b>one</b><i class=new></i><a href="/p/1">1</a></li>
<li class=card id=c2><b>two</b><a href="/p/2">2</a></li><li class=card id=c3><b>three</b></li></ul></body></html>"""
API = {"items": [{"id": 1, "name": "one", "price": 12.345, "url": "/p/1", "tags": ["x", "y"], "gone": None,
                  "made": 1700000000, "new": True, "product-id": "a"},
                 {"id": "2", "name": " ", "price": "1,299.00", "url": 5}],
       "meta": {"page": 1, "more": True, "next": "abc=/", "last": None}}  # fmt: skip


@pytest.fixture
def load(tmp_path):
    def load(text, site=SITE, name="shop.toml"):
        path = tmp_path / name
        path.write_text(site + text)
        return load_site(path)

    return load


def visit(site, body, url="http://h.example/p/1", data=None):
    kind = "text/html" if isinstance(body, str) else "application/json"
    body = body if isinstance(body, str) else json.dumps(body)
    return site.extract(Fetched(url, 200, {"content-type": kind}, body.encode(), handler="p", data=data))


def page(text, pattern="/p/{n}"):
    return f'[[page]]\nname = "p"\npattern = "{pattern}"\n{text}\n'


def record(fields, more='key = { page = "url" }'):
    return page(f'[page.record]\ntype = "product"\n{more}\n[page.record.fields]\n{fields}')


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ('"h1"', "A lamp"),
        ('{ css = "h1" }', "A lamp"),
        ('"img::attr(src)"', "a.png"),
        ("{ css = '.stock', match = '[0-9]+ left' }", "7 left"),
        ('{ css = ".none", optional = true }', None),
        ('{ css = ".blank", default = "-" }', "-"),
        ('{ css = ".card b", all = true }', ["one", "two", "three"]),
        ('{ css = ".none", all = true }', []),
        ('{ css = ".none", all = true, optional = true }', None),
        ("{ css = '.stock', type = 'int', match = '([0-9]+)' }", 7),
        ('{ css = ".none", type = "int", default = 0 }', 0),
        ('{ css = ".half", type = "number" }', 2.5),
        ('{ css = ".price", type = "price", decimal = "," }', {"amount": "1299.00", "currency": "EUR"}),
        ('{ css = ".half", type = "price", currency = "EUR" }', {"amount": "2.5", "currency": "EUR"}),
        ('{ css = "time", type = "date" }', "2025-03-04"),
        ('{ css = ".day", type = "date", order = "DMY" }', "2025-04-03"),
        ('{ css = ".none", type = "date", default = 2025-01-02 }', "2025-01-02"),
        ('{ css = ".more::attr(href)", type = "url" }', "http://h.example/next?x=1"),
        ('{ css = "img::attr(src)", type = "url", all = true }', ["http://h.example/shop/a.png"]),
        ('{ css = ".new", type = "bool" }', True),
        ('{ css = ".none", type = "bool" }', False),
        ('{ jsonld = "Product", path = "sku" }', "J-1"),
        ("{ jsonld = ['Offer', 'Product'], path = \"offers[?currency == 'EUR'].price | [0]\", type = 'number' }", 12.0),
        ('{ jsonld = "Product", path = "offers[0].price", type = "price", currency = "USD" }',
         {"amount": "9.5", "currency": "USD"}),
        ('{ microdata = "Product", path = "sku" }', "M-1"),
        ('{ embedded = "__STATE__", path = "stock" }', 3),
        ('{ embedded = "__STATE__", path = "open", type = "bool" }', True),
        ('{ embedded = "__STATE__", path = "tags", type = "text", all = true }', ["a", "b"]),
        ('{ embedded = "no_such", path = "stock", optional = true }', None),
        ('{ opengraph = "og:title" }', "A lamp"),
        ('{ param = "n" }', "1"),
        ('{ param = "n", type = "int" }', 1),
        ('{ data = "shelf" }', "top"),
        ('{ data = "none", default = ["x"] }', ["x"]),
        ('{ page = "url" }', "http://h.example/p/1"),
        ('{ value = "shop A" }', "shop A"),
        ('{ value = 2025-01-02 }', "2025-01-02"),
    ],
)  # fmt: skip
def test_a_field_reads_what_is_there(load, field, expected):
    found = visit(load(record(f"f = {field}")), HTML, data={"shelf": "top"})
    assert found.rejections == []
    assert found.records == [Record("product", "http://h.example/p/1", {"f": expected})]
    assert json.dumps(found.records[0].data["f"]) == json.dumps(expected)  # 1 is neither True nor 1.0


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ('".none"', "nothing at '.none'"),
        ('".blank"', "nothing at '.blank'"),
        ('{ css = ".stock", type = "int", default = 0 }', "'only 7 left' at '.stock': "),
        ('{ css = ".half", type = "int" }', "'2.5' at '.half': not a whole number"),
        ("{ css = '.sku', match = '[0-9]{5}' }", "'S-1' at '.sku': nothing in it fits '[0-9]{5}'"),
        ('{ css = "h1", type = "price" }', "'A lamp' at 'h1': no number in it"),
        ('{ css = "img + img::attr(src)", type = "url" }', "'data:image/png;base64,AA' at 'img + img::attr(src)': "
         "leads to no page"),
        ('{ jsonld = "Product", path = "name" }', "'' at 'jsonld Product: name': nothing is there; JSON-LD block 2: "),
        ('{ jsonld = "Product", path = "offers", type = "text" }', "a list, not text"),
        ('{ embedded = "bad" }', "'bad' cannot be read"),
        ('{ embedded = "bad", optional = true }', "'bad' cannot be read"),
        ('{ embedded = "no_such" }', "nothing at 'embedded no_such'"),
        ('{ embedded = "__STATE__", path = "stock", type = "bool" }', "neither true nor false"),
        ('{ embedded = "__STATE__", path = "open", type = "int" }', "a bool, not text"),
        ('{ data = "none" }', "nothing at 'none'"),
        ('{ embedded = "__STATE__", path = "tags[?@ > `1`]", optional = true }', "'tags[?@ > `1`]' cannot be followed"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_there_or_not_of_its_type_rejects_the_record(load, field, reason):
    found = visit(load(record(f'ok = "h1"\nf = {field}')), HTML, data={"shelf": "top"})
    assert found.records == []
    (rejection,) = found.rejections
    assert (rejection.type, rejection.field) == ("product", "f")
    assert reason in rejection.reason


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ('"sku"', "S-1"),
        ('["sku", "n"]', ["S-1", 1]),
        ('{ css = ".sku" }', "S-1"),
        ('{ param = "n" }', "1"),
        ('["sku", { param = "n" }]', ["S-1", "1"]),
        ('{ jsonld = "Product", path = "sku" }', "J-1"),
    ],
)
def test_a_key_is_a_field_a_place_or_a_list_of_them(load, key, expected):
    site = load(record('sku = ".sku"\nn = { param = "n", type = "int" }', f"key = {key}"))
    (found,) = visit(site, HTML).records
    assert found.key == expected


def test_a_key_that_is_not_there_rejects_the_record(load):
    (rejection,) = visit(load(record('t = "h1"', 'key = { css = ".none" }')), HTML).rejections
    assert rejection.reason == "key: nothing at '.none'"


def test_there_is_a_record_for_each_element_and_its_fields_are_below_it(load):
    more = 'each = ".card"\nwhen = "a"\nkey = { css = "b" }\npart = "list"\nvolatile = "new"\n'
    more += 'requires = ["a"]\nschema = 2'
    site = load(
        record('new = { css = ".new", type = "bool" }\nsku = { embedded = "__STATE__", path = "sku" }', more)
    )
    assert visit(site, HTML).records == [
        Record("product", "one", {"new": True, "sku": "E-1"}, "list", ("a",), ("new",), 2),
        Record("product", "two", {"new": False, "sku": "E-1"}, "list", ("a",), ("new",), 2),
    ]


@pytest.mark.parametrize("each", ['{ json = "items" }', '{ json = "items[*]" }', '{ json = "[items][]" }'])
def test_there_is_a_record_for_each_item_of_json_and_its_paths_start_there(load, each):
    fields = [
        'name = "name"', 'tags = "tags"', 'gone = { path = "gone", optional = true }', "pid = '\"product-id\"'",
        'price = { path = "price", type = "price", currency = "EUR" }', 'url = { path = "url", type = "url" }',
        'made = { path = "made", type = "date", format = "unix" }', 'page = { json = "meta.page" }',
        'new = { path = "new", type = "bool" }', 'n = { path = "id", type = "text" }',
    ]  # fmt: skip
    found = visit(load(record("\n".join(fields), f'each = {each}\nkey = {{ path = "id" }}')), API)
    data = {"name": "one", "tags": ["x", "y"], "gone": None, "pid": "a", "price": {"amount": "12.345",
            "currency": "EUR"}, "url": "http://h.example/p/1", "made": "2023-11-14T22:13:20+00:00",
            "page": 1, "new": True, "n": "1"}  # fmt: skip
    assert found.records == [Record("product", 1, data)]
    (rejection,) = found.rejections
    assert (rejection.key, rejection.field, rejection.reason) == ("2", "name", "data.name: nothing at 'name'")


def test_there_is_a_record_for_each_node_of_structured_data(load):
    body = HTML.replace(
        '"sku": "J-1"', '"isRelatedTo": {"@type": "Product", "sku": "J-2", "offers": []}, "sku": "J-1"'
    )
    found = visit(
        load(record('offers = "offers[].price"', 'each = { jsonld = "Product" }\nkey = { path = "sku" }')),
        body,
    )
    assert [(each.key, each.data) for each in found.records] == [
        ("J-1", {"offers": [9.5, "12.00"]}),
        ("J-2", {"offers": []}),
    ]


def test_a_json_page_that_is_none_fails_and_is_not_empty(load):
    site = load(record('name = "name"', 'each = { json = "@" }\nkey = "name"'))
    with pytest.raises(Exception, match=r"^p: not JSON: [^\n]*$"):
        visit(site, "<p>")


def test_data_that_cannot_be_read_costs_its_own_block_alone(load):
    blocks = '[[page.record]]\ntype = "bad"\neach = { embedded = "bad" }\nkey = "a"\nfields = { a = "a" }\n'
    blocks += '[[page.record]]\ntype = "good"\nkey = "sku"\nfields = { sku = ".sku" }\n'
    found = visit(load(page(blocks)), HTML)
    assert [each.type for each in found.records] == ["good"]
    assert [each.type for each in found.rejections] == ["bad"]


def test_a_page_may_be_for_html_alone(load):
    text = page('html = true\nfollow = ["a"]')
    assert len(visit(load(text), HTML).links) == 3
    assert visit(load(text), {}).links == []


P = "http://h.example/p/"


@pytest.mark.parametrize(
    ("follow", "links"),
    [
        ('"a.more"', [Link("http://h.example/next?x=1")]),
        ('{ css = "li a", to = "p", priority = 5 }', [Link(f"{P}1", "p", None, 5), Link(f"{P}2", "p", None, 5)]),
        ('{ css = "img::attr(src)" }', [Link("http://h.example/shop/a.png")]),
        ('{ css = "li a", data = { shelf = "h1" } }', [Link(f"{P}{n}", None, {"shelf": "A lamp"}) for n in (1, 2)]),
        ('{ each = ".card", css = "a", data = { t = "b" } }', [Link(f"{P}1", None, {"t": "one"}),
                                                             Link(f"{P}2", None, {"t": "two"})]),
        ('{ each = "li a", data = { t = "::text" } }', [Link(f"{P}1", None, {"t": "1"}),
                                                       Link(f"{P}2", None, {"t": "2"})]),
        ('{ each = ".card", when = ".new", css = "a", merge = "list", data = { t = "b" } }',
         [Link(f"{P}1", None, {"t": "one"}, merge=True)]),
        ('{ url = "/q/{n+1}", when = ".card" }', [Link("http://h.example/q/2")]),
        ('{ url = "/q/{n-1}", when = ".none" }', []),
        ('{ url = "/q/{s}/{n}", data = { s = "h1" } }', [Link("http://h.example/q/A%20lamp/1", None, {"s": "A lamp"})]),
        ('{ url = "/q/{s}", data = { s = { css = ".none", optional = true } } }', []),
        ('{ embedded = "no_such", path = "urls" }', []),
        ('{ opengraph = "og:url" }', []),
    ],
)  # fmt: skip
def test_links_are_followed(load, follow, links):
    site = load(page(f"follow = [{follow}]", "/p/{n:int}"))
    found = visit(site, HTML)
    assert (list(found.links), found.rejections) == (links, [])


@pytest.mark.parametrize(
    ("follow", "links", "dropped", "rejected"),
    [
        ('{ json = "items[*].url" }', [Link(f"{P}1")], {"no link": 1}, 0),
        ('{ json = "meta.none" }', [], {}, 0),
        ('{ each = { json = "items" }, path = "url", data = { id = "id" } }', [Link(f"{P}1", None, {"id": 1})],
         {"no link": 1}, 0),
        ('{ each = { json = "items[*].url" } }', [Link(f"{P}1")], {"no link": 1}, 0),
        ('{ each = { json = "items" }, url = "/p/{id}", data = { id = "id" } }',
         [Link(f"{P}1", None, {"id": 1}), Link(f"{P}2", None, {"id": "2"})], {}, 0),
        ('{ url = "?cursor={c}", data = { c = { json = "meta.next" } } }', [Link(f"{P}1?cursor=abc%3D%2F", None,
                                                                             {"c": "abc=/"})], {}, 0),
        ('{ url = "?cursor={c}", data = { c = { json = "meta.last", optional = true } } }', [], {}, 0),
        ('{ url = "?cursor={c}", data = { c = { json = "meta.last" } } }', [], {}, 1),
        ('{ url = "?x={c}", data = { c = { json = "items" } } }', [], {}, 1),
        ('{ url = "/p/{n+1}", when = { json = "meta.more" } }', [Link(f"{P}2")], {}, 0),
        ('{ url = "/p/{n+1}", when = { json = "meta.last" } }', [], {}, 0),
        ('{ url = "/p/{n+1}", when = { json = "items[1].name" } }', [], {}, 0),
        ('{ url = "/p/{n+1}", when = { json = "items[9:]" } }', [], {}, 0),
        ('{ url = "?page={n+1}", data = { n = { json = "meta.page", type = "int" } } }',
         [Link(f"{P}1?page=2", None, {"n": 1})], {}, 0),
    ],
)  # fmt: skip
def test_links_of_json_are_followed(load, follow, links, dropped, rejected):
    found = visit(load(page(f"follow = [{follow}]", "/p/{n:int}")), API)
    assert (list(found.links), found.dropped, len(found.rejections)) == (links, dropped, rejected)


def test_the_example_gives_what_its_python_twin_gives_on_every_page_of_the_shop():
    twins = [load_site(ROOT / "examples" / name) for name in ("shop.py", "shop.toml")]
    shop = Shop(listings=3, products=30)
    paths = [f"/list/{n}" for n in range(3)] + [f"/product/{n}" for n in range(30)]
    broken = "<ul><li>sold out<li><a href='http://'>x</a></ul><p class=price>1</p>"
    pages = [(path, shop.page(path)[1]) for path in paths] + [("/list/0", broken), ("/product/1", broken)]
    seen = 0
    for path, text in pages:
        found = []
        for site in twins:
            url = site.seeds[0].replace("/list/0", path)
            found.append(site.extract(Fetched(url, 200, {}, text.encode(), handler=site.match(url))))
        assert found[0] == found[1]
        seen += len(found[0].links) + len(found[0].records) + len(found[0].rejections)
    assert seen == 2 + 30 + 30 + 1
    assert [site.match(site.seeds[0]) for site in twins] == ["listing", "listing"]
    for name in (
        "name",
        "seeds",
        "hosts",
        "delay",
        "allow_private",
        "robots",
        "user_agent",
        "headers",
        "knobs",
    ):
        assert getattr(twins[0], name) == getattr(twins[1], name)


def test_the_site_takes_what_a_site_in_python_takes(load):
    text = """
    [site]
    name = "shop"
    seeds = ["https://h.example/"]
    hosts = ["img.example"]
    delay = 2.5
    max_in_flight = 2
    allow_private = true
    robots = false
    contact = "me@h.example"
    sitemaps = ["https://h.example/map.xml"]
    proxy = { secret = "PROXY" }
    cookies = { visited = "yes" }
    [site.headers]
    Accept = "text/html"
    Authorization = { secret = "API_TOKEN", before = "Bearer " }
    [tune]
    lease = 30
    max_attempts = 3
    [[page]]
    name = "home"
    pattern = ["/", "/index"]
    follow = ["a"]
    """
    site = load(text, site="")
    assert (site.delay, site.max_in_flight, site.allow_private, site.robots) == (2.5, 2, True, False)
    assert site.authorities == {"h.example", "img.example"}
    assert "me@h.example" in site.user_agent
    assert site.headers == {"Accept": "text/html", "Authorization": Secret("API_TOKEN", "Bearer ")}
    assert (site.cookies, site.network.proxy) == ({"visited": "yes"}, Secret("PROXY"))
    assert site.sitemaps == ("https://h.example/map.xml",)
    assert (site.knobs.lease, site.knobs.max_attempts) == (30, 3)
    assert site.match("https://h.example/index") == "home"


PAGE = """[[page]]
name = "p"
pattern = "/p/{n}"
[[page.follow]]
css = "a"
[page.record]
type = "product"
key = "sku"
each = ".card"
when = "b"
[page.record.fields]
sku = ".sku"
price = { css = ".price", type = "price" }
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n", "\n# a comment\n"),
        ('css = "a"\n', "css    =   'a'\n"),
        ('sku = ".sku"\nprice = { css = ".price", type = "price" }',
         'price = { type = "price", css = ".price" }\nsku = ".sku"'),
        ('sku = ".sku"', 'sku = { css = ".sku" }'),
        ('each = ".card"', 'each = { css = ".card" }'),
        ('when = "b"', 'when = { css = "b" }'),
        ('[[page.follow]]\ncss = "a"\n', 'follow = ["a"]\n'),
        ("[page.record]", "[[page.record]]"),
        ("/p/{n}", "/q/{n}"),
        ('name = "p"\npattern = "/p/{n}"', 'pattern = "/p/{n}"\nname = "p"'),
        ("[[page]]", '[[page]]\nname = "q"\npattern = "/q"\nfollow = ["i"]\n[[page]]'),
    ],
)  # fmt: skip
def test_the_code_of_a_page_is_the_same_however_it_is_laid_out(load, old, new):
    assert old in PAGE
    assert load(PAGE.replace(old, new)).code("p") == load(PAGE).code("p") != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('css = "a"', 'css = "b"'),
        ('css = "a"', 'css = "a"\nto = "p"'),
        ('css = "a"\n', 'css = "a"\n[[page.follow]]\ncss = "i"\n'),
        ('type = "product"', 'type = "item"'),
        ('type = "product"', 'type = "product"\npart = "x"'),
        ('key = "sku"', 'key = { css = ".sku" }'),
        ('each = ".card"\n', ""),
        ('when = "b"\n', ""),
        ('sku = ".sku"', 'sku = ".code"'),
        ('type = "price"', 'type = "number"'),
        ('type = "price"', 'type = "price", optional = true'),
        ("[[page.follow]]", "html = true\n[[page.follow]]"),
    ],
)
def test_the_code_of_a_page_changes_with_what_it_does(load, old, new):
    assert old in PAGE
    assert load(PAGE.replace(old, new, 1)).code("p") != load(PAGE).code("p")


def test_a_site_knows_the_code_of_its_pages_and_of_no_other(load):
    site = load(PAGE)
    assert site.codes() == {"p": site.code("p")}
    assert (site.code(None), site.code("q")) == ("", "")


def test_a_file_is_not_run_and_leaves_its_name_alone(load, tmp_path):
    assert load(PAGE, name="SHOP.TOML").name == "t"
    with pytest.raises(SiteError, match="no such file"):
        load_site(tmp_path / "none.toml")


DOCUMENT = (ROOT / "docs/declarative.md").read_text("utf-8")


@pytest.mark.parametrize("text", re.findall(r"^```toml\n(.*?)^```$", DOCUMENT, re.M | re.S))
def test_a_block_of_the_document_is_a_site_that_knows_its_seeds(load, text):
    site = load(text, site="")
    assert site.seeds
    assert all(site.match(seed) for seed in site.seeds)


def test_every_key_place_type_and_argument_is_in_the_document():
    known = [*pages.KEYS, *follows.KEYS, *records.KEYS, *places.PLACES, *convert.OPTIONS, *fields.KEYS]
    for name in {*known, *inspect.signature(Site).parameters}:
        assert re.search(rf"`{name}[`\s]", DOCUMENT), name


def test_the_paginated_api_of_the_document_is_read_to_its_end(load):
    (text,) = [
        text for text in re.findall(r"^```toml\n(.*?)^```$", DOCUMENT, re.M | re.S) if "api-shop" in text
    ]
    site = load(text, site="")
    item = {
        "id": 7,
        "name": "tea",
        "price": 2.5,
        "attributes": [{"name": "color", "value": "red"}],
        "updated_at": 86400,
    }
    for more, links in ((True, ["products?page=2", "product/7/reviews"]), (False, ["product/7/reviews"])):
        body = json.dumps({"items": [item], "has_more": more, "meta": {"warehouse": "A"}}).encode()
        found = site.extract(
            Fetched(site.seeds[0], 200, {"content-type": "application/json"}, body, "products")
        )
        assert [link.url.removeprefix("https://api.example/") for link in found.links] == links
    assert found.rejections == []
    data = {"id": 7, "name": "tea", "price": {"amount": "2.5", "currency": "USD"}, "color": "red", "warehouse": "A",
            "updated": "1970-01-02T00:00:00+00:00"}  # fmt: skip
    assert found.records == [Record("product", 7, data)]


def test_a_page_may_be_due_again_by_itself(load):
    site = load(page('refresh = "12h"\nfollow = "a"'))
    assert site.periods.of(None, "http://h.example/p/1") == 12 * 3_600_000
    assert site.periods.of(None, "http://h.example/x") == 0
