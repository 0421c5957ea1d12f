"""Saved pages: kept with what they give, replayed without a network, compared field by field."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import pytest
from front_helpers import RECORD, limpet, write_site
from small_site import Answer, small_site

from limpet.demo.shop import ShopServer


@pytest.fixture
def pages(site: Path) -> Path:
    """The folder of two saved pages of the shop, beside the site file."""
    folder = site.parent / "tests" / "pages"
    assert limpet("try", site, "--follow", "--save", folder).code == 0
    return folder


def no_network(*_: object) -> NoReturn:
    raise AssertionError("a socket was made")


def test_saved_pages_are_replayed_without_a_socket(
    site: Path, pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "socket", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)

    ran = limpet("check", site)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "ok      list-0: listing, 4 links",
        "ok      product-0: product, 1 record",
        "2 pages, none differing",
    ]


def test_a_saved_page_is_two_files_that_people_can_read(shop: ShopServer, pages: Path) -> None:
    names = sorted(path.name for path in pages.iterdir())
    about = json.loads((pages / "product-0.page.json").read_text())

    assert names == ["list-0.html", "list-0.page.json", "product-0.html", "product-0.page.json"]
    assert b'<dd class="sku">LP-00000</dd>' in (pages / "product-0.html").read_bytes()
    assert about["url"] == f"{shop.url}/product/0"
    assert about["headers"] == {"content-type": "text/html; charset=utf-8"}
    assert about["expected"]["records"][0]["data"]["name"] == "Keyhole lamp 0"


def test_a_difference_is_shown_by_field_and_fails(site: Path, pages: Path, shop: ShopServer) -> None:
    body = RECORD.replace('"price": page.one(".price::text")', '"price": "0", "new": 1')
    write_site(site.parent, shop.first_page, body)

    ran = limpet("check", site)

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "ok      list-0: listing, 4 links",
        "FAILED  product-0: product, 1 record",
        "        product LP-00000: new: nothing -> 1",
        '        product LP-00000: price: "1.99" -> "0"',
        "2 pages, 1 differing",
    ]


def test_update_accepts_what_they_give_now(site: Path, pages: Path, shop: ShopServer) -> None:
    body = RECORD.replace("key=page", 'key="X" + page')
    write_site(site.parent, shop.first_page, body)

    assert (
        "        - product LP-00000\n        + product XLP-00000\n" in limpet("check", site, "--update").out
    )
    assert limpet("check", site).code == 0


def test_links_and_rejections_are_compared_too(site: Path, pages: Path, shop: ShopServer) -> None:
    write_site(site.parent, shop.first_page, 'yield Record("product", page.one(".nope"), {})')
    site.write_text(site.read_text().replace('"a[rel=next]"', '".none"'))

    said = limpet("check", site).out

    assert f"        - link listing {shop.url}/list/1\n" in said
    assert "        + rejection product: key: nothing at '.nope'\n" in said


def test_a_handler_that_fails_is_a_difference(site: Path, pages: Path, shop: ShopServer) -> None:
    write_site(site.parent, shop.first_page, "1 / 0")

    ran = limpet("check", site)

    assert ran.code == 1
    assert '        outcome: "done" -> "retry"\n' in ran.out
    assert "ZeroDivisionError" in ran.out


def test_a_handler_without_a_saved_page_is_named(site: Path, pages: Path) -> None:
    for path in pages.glob("product*"):
        path.unlink()

    ran = limpet("check", site)

    assert (ran.code, ran.said) == (0, ["no saved page is read by product"])


def test_without_any_page_nothing_is_proven(site: Path) -> None:
    ran = limpet("check", site)

    assert (ran.code, ran.out) == (2, "")
    assert "--follow --save" in ran.err


def test_pages_of_another_site_in_the_folder_are_left_alone(
    site: Path, pages: Path, shop: ShopServer
) -> None:
    other = site.with_name("other.py")
    other.write_text(site.read_text().replace('Site("shop"', 'Site("other"'))

    assert limpet("check", other, pages).code == 2
    limpet("try", other, f"{shop.url}/product/1", "--save", pages)
    assert limpet("check", other, pages).out.endswith("1 page, none differing\n")
    assert limpet("check", site).out.endswith("2 pages, none differing\n")


def test_no_cookie_no_date_and_nothing_sent_is_saved(tmp_path: Path) -> None:
    headers = {
        "Content-Type": "text/html; charset=utf-8", "Set-Cookie": "session=s3cret", "X-Total-Count": "9",
        "Authorization-Info": "s3cret", "ETag": '"s3cret"',
    }  # fmt: skip
    with small_site({"/": Answer("<h1>x</h1>", headers=headers)}) as web:
        site = tmp_path / "s.py"
        site.write_text(
            f'from limpet import Site\nsite = Site("s", ["{web.url}/"], headers={{"X-Key": "s3cret"}})\n'
            '@site.page("/")\ndef home(page): yield page.link("/x")\n'
        )
        assert limpet("try", site, "--save", tmp_path / "pages").code == 0

    saved = "".join(path.read_text() for path in (tmp_path / "pages").iterdir())
    assert "s3cret" not in saved
    assert "x-total-count" in saved
    assert "date" not in saved


def test_a_page_saved_again_takes_its_own_place_and_no_other_page_s(site: Path, shop: ShopServer) -> None:
    folder = site.parent / "p"
    for path in ("/product/1", "/product/1?a=1", "/product/1/?a=1", "/product/1"):
        limpet("try", site, f"{shop.url}{path}", "--save", folder)

    urls = [json.loads(path.read_text())["url"] for path in folder.glob("*.page.json")]
    assert sorted(urls) == [f"{shop.url}/product/{rest}" for rest in ("1", "1/?a=1", "1?a=1")]


def test_a_page_that_shows_a_secret_is_not_saved(tmp_path: Path) -> None:
    def echo(headers: Mapping[str, str]) -> Answer:
        return Answer(f"<h1>{headers['X-Key']}</h1>")

    with small_site({"/": echo}) as web:
        site = tmp_path / "s.py"
        site.write_text(
            f'from limpet import Site, secret\nsite = Site("s", ["{web.url}/"], headers={{"X-Key": secret("KEY")}})\n'
            '@site.page("/")\ndef home(page): yield page.link("/x")\n'
        )
        ran = limpet("try", site, "--save", tmp_path / "pages", env={"KEY": "hush-hush"})

    assert ran.code == 2
    assert "shows a secret" in ran.err
    assert list(tmp_path.iterdir()) == [site]


def test_secrets_of_the_site_are_not_wanted_for_a_replay(site: Path, pages: Path, shop: ShopServer) -> None:
    text = site.read_text().replace("allow_private=True", 'headers={"X-Key": secret("NO_SUCH_KEY")}')
    site.write_text(text.replace("import Page", "import Page, secret"))

    assert limpet("try", site, shop.first_page).code == 2
    assert limpet("check", site).code == 0


def test_the_body_of_json_is_json(tmp_path: Path) -> None:
    with small_site({"/api": Answer('{"a": 1}', headers={"Content-Type": "application/json"})}) as web:
        site = tmp_path / "s.py"
        site.write_text(
            f'from limpet import Record, Site\nsite = Site("s", ["{web.url}/api"])\n'
            '@site.page("/api")\ndef api(page): yield Record("r", page.json()["a"], {})\n'
        )
        limpet("try", site, "--save", tmp_path)

    assert (tmp_path / "api.json").read_text() == '{"a": 1}'
    assert limpet("check", site, tmp_path).code == 0


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.write_text("{"), "not JSON"),
        (lambda path: path.write_text('{"site": "shop"}'), "no 'url' in it"),
        (lambda path: path.with_name("product-0.html").unlink(), "its body product-0.html cannot be read"),
    ],
)
def test_a_broken_saved_page_is_named(site: Path, pages: Path, damage: object, said: str) -> None:
    damage(pages / "product-0.page.json")  # type: ignore[operator]

    ran = limpet("check", site)

    assert ran.code == 2
    assert f"product-0.page.json: {said}" in ran.err


def test_a_saved_page_can_be_tried_by_either_of_its_files(site: Path, pages: Path, shop: ShopServer) -> None:
    mark = shop.mark()

    for name in ("product-0.html", "product-0.page.json"):
        assert "record   product LP-00000" in limpet("try", site, pages / name).out
    assert shop.requests_since(mark) == []


SITEMAP_SITE = """
import os
from limpet import Page, Site

site = Site("docs", sitemaps=[os.environ["DOCS"] + "/sitemap.xml"], allow_private=True)

@site.page("/docs/{n}")
def document(page: Page):
    pass
"""


def test_a_saved_sitemap_is_replayed_as_one_wherever_the_site_is_now(tmp_path: Path) -> None:
    entries = "<url><loc>{url}/docs/1</loc></url><url><loc>{url}/blog</loc></url>"
    sitemap = Answer(f"<urlset>{entries}</urlset>", headers={"Content-Type": "application/xml"})
    site = tmp_path / "docs.py"
    site.write_text(SITEMAP_SITE)
    with small_site({"/sitemap.xml": sitemap, "/docs/1": "<h1>One</h1>"}) as served:
        limpet("try", site, "--follow", "--save", tmp_path / "tests" / "pages", env={"DOCS": served.url})

    ran = limpet("check", site, env={"DOCS": "http://127.0.0.1:9"})

    assert (ran.code, ran.out.splitlines()[-1]) == (0, "2 pages, none differing")
    assert "sitemap-xml: done (no handler), 1 link" in ran.out
