"""A site file from a URL: what was guessed is right on sites of several kinds, loads, is tidy, and crawls."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from front_helpers import Ran, limpet
from small_site import Answer, SmallSite, small_site

from limpet.demo.shop import ShopServer
from limpet.load import load_site

JSON = {"Content-Type": "application/json"}
Pages = Mapping[str, str | Answer]


def html(body: str, head: str = "") -> str:
    aside = "".join(f'<a href="/{name}">{name}</a>' for name in ("home", "about", "contact", "help", "terms"))
    return f"<!doctype html><title>T</title>{head}<body><nav>{aside}</nav>{body}<footer>{aside}</footer>"


def jsonld(**node: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(node)}</script>'


def new(folder: Path, web: SmallSite, start: str, *more: object) -> Ran:
    return limpet("new", folder / "shop.py", f"{web.url}{start}", *more)


def export(site: Path) -> list[dict[str, object]]:
    assert limpet("crawl", site, "--workers", 1).code == 0
    return [json.loads(line) for line in limpet("export", site).out.splitlines()]


def assert_tidy(site: Path) -> None:
    for words in (["check"], ["format", "--check", "--line-length", "110"]):
        ran = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--isolated", str(site)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout


def test_the_demo_shop_is_crawled_right_with_the_draft_as_it_is(shop: ShopServer, tmp_path: Path) -> None:
    site = tmp_path / "shop.py"
    ran = limpet("new", site, shop.first_page)

    assert ran.code == 0, ran.err
    assert ran.said[0] == f"wrote {site}; this is what it makes of {shop.first_page}:"
    assert f"limpet crawl {site} --limit 20" in ran.err
    assert_tidy(site)
    found = {record["key"]: record["data"] for record in export(site)}
    assert {key: (data["name"], data["price"]) for key, data in found.items()} == {  # type: ignore[index]
        sku: (values["name"], values["price"]) for sku, values in shop.expected().items()
    }


def test_no_page_is_fetched_twice(shop: ShopServer, tmp_path: Path) -> None:
    mark = shop.mark()
    limpet("new", tmp_path / "s.py", shop.first_page)

    asked = [request.path for request in shop.requests_since(mark)]
    assert asked == ["/robots.txt", "/list/0", "/product/0", "/product/1"]


THINGS = ("lamp-a", "cup-b", "pan-c", "pot-d")


def classic() -> Pages:
    """Cards with pictures beside a long list of categories; a label in a table is the key."""
    cards = "".join(
        f'<li class="col"><article class="pod"><a href="/catalogue/{name}_{n}/index.html"><img src="i.jpg"></a>'
        f'<h3><a href="/catalogue/{name}_{n}/index.html">{name}</a></h3>'
        f'<p class="price_color">£{n}.50</p></article></li>'
        for n, name in enumerate(THINGS, 100)
    )
    aside = "".join(
        f'<li><a href="/catalogue/category/c_{n}/index.html">Category {n}</a></li>' for n in range(30)
    )
    pager = '<ul class="pager"><li class="next"><a href="/catalogue/page-2.html">next</a></li></ul>'
    body = f'<div class="side"><ul>{aside}</ul></div><section><ol class="row">{cards}</ol>{pager}</section>'
    pages: dict[str, str | Answer] = {"/": html(body), "/catalogue/page-2.html": html("<p>the end</p>")}
    for n, name in enumerate(THINGS, 100):
        table = f"<table><tr><th>UPC</th><td>u{n}</td></tr></table>"
        pages[f"/catalogue/{name}_{n}/index.html"] = html(
            f'<h1>{name}</h1><p class="price_color">£{n}.50</p><p class="instock availability">In stock</p>{table}'
        )
    return pages


def test_a_classic_shop(tmp_path: Path) -> None:
    with small_site(classic()) as web:
        assert new(tmp_path, web, "/").code == 0
        found = export(tmp_path / "shop.py")
    text = (tmp_path / "shop.py").read_text()

    assert_tidy(tmp_path / "shop.py")
    assert '@site.page("/")\n@site.page("/catalogue/page-{n}.html")\n' in text
    assert '@site.page("/catalogue/{name}/index.html")\n' in text
    assert sorted(str(record["key"]) for record in found) == ["u100", "u101", "u102", "u103"]
    assert found[0]["data"]["price"] == "£100.50"  # type: ignore[index]


def linked_data() -> Pages:
    cards = "".join(
        f'<div class="card"><a href="/products/{name}">{name}</a> € 1,99</div>' for name in THINGS
    )
    pager = (
        '<div class="pages"><a href="/shop?page=1">1</a> <a href="/shop?page=2" aria-label="Next">›</a></div>'
    )
    pages: dict[str, str | Answer] = {
        "/shop": html(cards + pager),
        "/shop?page=2": html("<p>that was all</p>"),
    }
    for n, name in enumerate(THINGS):
        offer = {"@type": "Offer", "price": f"{n}.99", "priceCurrency": "EUR"}
        crumbs = {"@type": "BreadcrumbList", "itemListElement": []}
        thing = {
            "@type": "Product",
            "sku": f"S{n}",
            "name": name,
            "brand": {"name": "Acme"},
            "offers": [offer],
        }
        pages[f"/products/{name}"] = html(f"<h1>{name}</h1>", jsonld(**{"@graph": [crumbs, thing]}))
    return pages


def test_a_shop_with_json_ld(tmp_path: Path) -> None:
    with small_site(linked_data()) as web:
        assert new(tmp_path, web, "/shop").code == 0
        found = export(tmp_path / "shop.py")

    assert_tidy(tmp_path / "shop.py")
    assert 'found = page.jsonld("Product").one()' in (tmp_path / "shop.py").read_text()
    assert {str(record["key"]): record["data"]["price"] for record in found} == {  # type: ignore[index]
        "S0": "0.99", "S1": "1.99", "S2": "2.99", "S3": "3.99",
    }  # fmt: skip
    assert found[0]["data"]["brand"] == "Acme"  # type: ignore[index]


def test_a_page_of_one_thing_with_microdata(tmp_path: Path) -> None:
    body = (
        '<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Lamp</h1>'
        '<span itemprop="sku">L-1</span>'
        '<p itemprop="offers" itemscope itemtype="https://schema.org/Offer"><b itemprop="price">3.50</b></p></div>'
    )
    with small_site({"/p/12": html(body)}) as web:
        assert new(tmp_path, web, "/p/12").code == 0
        (found,) = export(tmp_path / "shop.py")

    assert_tidy(tmp_path / "shop.py")
    assert (found["type"], found["key"], found["data"]["price"]) == ("product", "L-1", "3.50")  # type: ignore[index]


def test_a_json_api_with_a_cursor(tmp_path: Path) -> None:
    first = {
        "data": {"items": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]},
        "links": {"next": "/v1/items?cursor=x"},
    }
    last = {"data": {"items": [{"id": 3, "name": "c"}]}, "links": {"next": None}}
    pages = {
        "/v1/items?limit=2": Answer(json.dumps(first), headers=JSON),
        "/v1/items?cursor=x": Answer(json.dumps(last), headers=JSON),
    }
    with small_site(pages) as web:
        assert new(tmp_path, web, "/v1/items?limit=2").code == 0
        found = export(tmp_path / "shop.py")

    assert_tidy(tmp_path / "shop.py")
    assert sorted((record["key"], record["data"]["name"]) for record in found) == [  # type: ignore[index]
        ("1", "a"), ("2", "b"), ("3", "c"),
    ]  # fmt: skip


def test_a_blog_whose_posts_of_a_month_must_not_be_one(tmp_path: Path) -> None:
    posts = [f"/2024/0{1 + n // 2}/{name}" for n, name in enumerate(THINGS)]
    intro = "An introduction that says what the post is about, at some length. "
    articles = "".join(
        f'<article><h2><a href="{path}">{path[9:]}</a></h2><p>{intro}</p>'
        f'<a class="more" href="{path}">More</a></article>'
        for path in posts
    )
    pages = {
        path: html(f'<article><h1>{path[9:]}</h1><span class="byline">Ann</span></article>') for path in posts
    }
    with small_site(pages | {"/blog": html(f"<main>{articles}</main>")}) as web:
        assert new(tmp_path, web, "/blog").code == 0
        found = export(tmp_path / "shop.py")

    assert sorted(str(record["key"]) for record in found) == sorted(THINGS)
    assert {record["type"] for record in found} == {"article"}


def test_a_sitemap_gives_a_site_of_its_pages(tmp_path: Path) -> None:
    xml = {"Content-Type": "application/xml"}
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    urls = "".join(f"<url><loc>{{url}}/products/{name}</loc></url>" for name in THINGS)
    pages: dict[str, str | Answer] = {
        "/index.xml": Answer(
            f"<sitemapindex {space}><sitemap><loc>{{url}}/1.xml</loc></sitemap></sitemapindex>", headers=xml
        ),
        "/1.xml": Answer(f"<urlset {space}><url><loc>{{url}}/about</loc></url>{urls}</urlset>", headers=xml),
    }
    with small_site({**linked_data(), **pages}) as web:
        assert new(tmp_path, web, "/index.xml").code == 0
        found = export(tmp_path / "shop.py")

    assert_tidy(tmp_path / "shop.py")
    assert sorted(str(record["key"]) for record in found) == ["S0", "S1", "S2", "S3"]


def test_numbers_of_pages_are_the_way_on_where_nothing_says_next(tmp_path: Path) -> None:
    cards = "".join(
        f'<div class="card"><a href="/products/{name}">{name}</a> € 1,99</div>' for name in THINGS
    )
    pager = '<div class="pages"><b>1</b> <a href="/shop?page=2">2</a> <a href="/shop?page=3">3</a></div>'
    with small_site({**linked_data(), "/shop": html(cards + pager)}) as web:
        new(tmp_path, web, "/shop")

    assert 'page.links(".pages a")' in (tmp_path / "shop.py").read_text()


def test_whose_site_it_is_is_not_what_its_pages_are_about(tmp_path: Path) -> None:
    owner = jsonld(**{"@type": "LocalBusiness", "@id": "#us", "name": "The Shop", "description": "Things"})
    pages = {path: page + owner for path, page in linked_data().items() if isinstance(page, str)}
    with small_site(pages) as web:
        new(tmp_path, web, "/shop")
    text = (tmp_path / "shop.py").read_text()

    assert "def listing(page: Page):" in text
    assert 'page.jsonld("Product")' in text


def test_a_page_in_which_nothing_is_recognised_says_so(tmp_path: Path) -> None:
    with small_site({"/": "<p>hello"}) as web:
        ran = new(tmp_path, web, "/")

    assert ran.code == 5
    assert "nothing was recognised there" in ran.err
    assert load_site(tmp_path / "shop.py").match(f"{web.url}/") == "anything"
    assert_tidy(tmp_path / "shop.py")


def test_a_page_that_scripts_fill_and_a_sitemap_are_remarked_on(tmp_path: Path) -> None:
    page = '<div id="app"></div><script id="__NEXT_DATA__" type="application/json">{"a": 1}</script>'
    with small_site({"/": page}, robots="Sitemap: https://x.example/sitemap.xml\n") as web:
        said = new(tmp_path, web, "/").err

    assert (
        "hardly any text of its own, so JavaScript may bring it: there is page.embedded('__NEXT_DATA__')"
        in said
    )
    assert "robots.txt names a sitemap, which may be a shorter way: https://x.example/sitemap.xml" in said


def test_text_of_the_page_cannot_break_out_of_a_comment_or_a_string(tmp_path: Path) -> None:
    nasty = 'x"""\nimport os; os.abort()  # \\'
    cards = "".join(f'<li class="c"><a href="/p/{n}">{nasty}</a></li>' for n in range(4))
    pages = {f"/p/{n}": html(f'<h1>{nasty} {n}</h1><b class="sku">k{n}</b>') for n in range(4)}
    with small_site(pages | {"/": html(f"<ul>{cards}</ul>")}) as web:
        assert new(tmp_path, web, "/").code == 0

    assert_tidy(tmp_path / "shop.py")
    assert "os.abort" not in [line.strip()[:8] for line in (tmp_path / "shop.py").read_text().splitlines()]


def test_a_file_that_is_there_is_left_alone(site: Path, shop: ShopServer) -> None:
    before = site.read_text()
    ran = limpet("new", site, shop.first_page)

    assert (ran.code, len(ran.said)) == (2, 1)
    assert "is there already" in ran.err
    assert site.read_text() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("shop", "http://127.0.0.1:1/"), "shop: a site file is a Python file: shop.py"),
        (("shop.py", "http://127.0.0.1:1/"), "connection refused"),
        (("shop.py", "http://[/"), "not an absolute http or https URL"),
    ],
)
def test_wrong_use_writes_nothing(tmp_path: Path, words: tuple[str, str], said: str) -> None:
    ran = limpet("new", *words, cwd=tmp_path)

    assert (ran.code, ran.out, len(ran.said)) == (2, "", 1)
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_is_not_there_is_wrong_use(shop: ShopServer, tmp_path: Path) -> None:
    ran = limpet("new", tmp_path / "s.py", f"{shop.url}/nowhere")

    assert ran.code == 2
    assert "404 Not Found" in ran.err


def test_what_robots_txt_forbids_is_not_looked_at(tmp_path: Path) -> None:
    with small_site({"/": "x"}, robots="User-agent: *\nDisallow: /\n") as web:
        ran = new(tmp_path, web, "/")

    assert ran.code == 2
    assert "robots.txt forbids it" in ran.err
    assert web.asked == ["GET /robots.txt"]
