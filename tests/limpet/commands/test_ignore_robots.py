"""--ignore-robots: said, obeyed by the workers, and for this command alone."""

from __future__ import annotations

from pathlib import Path

from front_helpers import ask, limpet
from small_site import small_site

SITE = """\
from limpet import Record, Site

site = Site("shop", ["{url}/p/1"]{more})


@site.page("/p/{{n}}")
def product(page):
    yield Record("product", page.params["n"], {{"name": page.one("b::text")}})
"""
FORBID = "User-agent: *\nDisallow: /\n"
WORD = "robots.txt is neither read nor obeyed (--ignore-robots)"
PAGES = {"/p/1": "<b>tea</b>", "/p/2": "<b>jam</b>"}


def write(folder: Path, url: str, more: str = "") -> Path:
    path = folder / "shop.py"
    path.write_text(SITE.format(url=url, more=more))
    return path


def test_a_crawl_that_is_told_to_fetches_what_robots_txt_forbids_and_the_next_one_does_not(
    tmp_path: Path,
) -> None:
    with small_site(PAGES, FORBID) as web:
        site = write(tmp_path, web.url)
        ran = limpet("crawl", site, "--ignore-robots", "--workers", 1)
        assert ran.code == 0, ran.err
        assert ran.said.count(WORD) == 1
        assert web.asked == ["GET /p/1"]
        limpet("enqueue", site, f"{web.url}/p/2")
        ran = limpet("crawl", site, "--workers", 1)
        assert WORD not in ran.said
        assert web.asked == ["GET /p/1", "GET /robots.txt"]
        assert ask(site, "SELECT state, reason FROM pages WHERE url LIKE '%/p/2'") == [("dead", "robots")]
        limpet("enqueue", site, f"{web.url}/p/3")
        ran = limpet("consume", site, "--ignore-robots", "--until-done", "--workers", 1)
        assert WORD in ran.said
        assert web.asked[2:] == ["GET /p/3"]


def test_sitemaps_that_only_robots_txt_names_cannot_be_found_without_it(tmp_path: Path) -> None:
    site = write(tmp_path, "http://127.0.0.1:1", ", sitemaps=True")
    ran = limpet("crawl", site, "--ignore-robots")
    assert ran.code == 2
    assert "name the sitemaps" in ran.err
