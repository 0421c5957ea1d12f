"""Python with a page in it, driven through a pipe."""

from __future__ import annotations

from pathlib import Path

from front_helpers import limpet

from limpet.demo.shop import ShopServer


def test_the_page_is_at_hand_and_fetch_goes_on(site: Path, shop: ShopServer) -> None:
    ran = limpet(
        "shell",
        site,
        stdin='page\npage.one("title")\nfetch("/product/3")\npage.params["n"], page.one(".sku")\nsite\n',
    )

    assert ran.code == 0
    assert ran.out.splitlines() == [
        f"<Page {shop.first_page}>",
        "'Page 1'",
        f"<Page {shop.url}/product/3>",
        "('3', 'LP-00003')",
        "<Site shop>",
    ]


def test_run_shows_what_the_handler_makes_of_it(site: Path, shop: ShopServer) -> None:
    ran = limpet("shell", site, f"{shop.url}/product/1", stdin="run()\nRecord('a', 1)\n")

    assert "record   product LP-00001\n" in ran.out
    assert "Record(type='a'" in ran.out


def test_blocks_of_several_lines_work(site: Path) -> None:
    ran = limpet("shell", site, stdin="for n in range(2):\n    print(n)\n\nprint('end')\n")

    assert ran.out == "0\n1\nend\n"


def test_a_line_that_fails_is_shown_and_the_others_run(site: Path) -> None:
    ran = limpet("shell", site, stdin="1/0\nprint('still here')\n(\n")

    assert (ran.code, ran.out) == (1, "still here\n")
    assert "ZeroDivisionError" in ran.err


def test_a_page_that_cannot_be_had_is_said_at_once(site: Path, shop: ShopServer) -> None:
    ran = limpet("shell", site, "http://127.0.0.1:1/", stdin="")

    assert (ran.code, ran.out, len(ran.said)) == (1, "", 1)
    assert "connection refused" in ran.err or "cannot be read" in ran.err


def test_a_fetch_that_fails_leaves_the_page_as_it_was(site: Path, shop: ShopServer) -> None:
    ran = limpet(
        "shell", site, stdin='fetch("/product/99999")\npage.status\nfetch("gopher://x/")\npage.status\n'
    )

    assert ran.out.splitlines() == [f"<Page {shop.url}/product/99999>", "404", "404"]


def test_a_saved_page_opens_without_a_request(site: Path, shop: ShopServer) -> None:
    folder = site.parent / "pages"
    limpet("try", site, f"{shop.url}/product/1", "--save", folder)
    mark = shop.mark()

    ran = limpet("shell", site, folder / "product-1.html", stdin='page.one(".sku")\n')

    assert (ran.code, ran.out) == (0, "'LP-00001'\n")
    assert shop.requests_since(mark) == []
