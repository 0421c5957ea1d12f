"""`limpet dead`: what it lists, shows and retries, and what it says when it is asked for nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from front_helpers import ask, limpet, write_site

from limpet.demo.shop import ShopServer

BROKEN = "raise ValueError('no price\\x1b[2J on ' + page.url)"


@pytest.fixture
def broken(shop: ShopServer, tmp_path: Path) -> Path:
    """A crawl whose six products are dead: their handler fails."""
    site = write_site(tmp_path / "broken", shop.first_page, BROKEN)
    with site.open("a") as file:
        file.write("\nsite.tune(max_attempts=1)\n")
    assert limpet("crawl", site, "--workers", 1).code == 3
    return site


def states(site: Path) -> dict[object, object]:
    return dict(ask(site, "SELECT state, count(*) FROM pages WHERE kind = 'page' GROUP BY state"))  # type: ignore[arg-type]


def test_dead_pages_are_listed_counted_and_shown(broken: Path, shop: ShopServer) -> None:
    lines = limpet("dead", "list", broken).out.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith(f"handler, 1 failure, status 200: {shop.url}/product/")
    assert "ValueError" in lines[0]
    assert "\x1b" not in "".join(lines)
    (line,) = limpet("dead", "list", broken, "--by", "reason").out.splitlines()
    assert line.split(", e.g. ")[0].split() == ["6", "handler"]
    (counted,) = map(json.loads, limpet("dead", "list", broken, "--by", "handler", "--json").out.splitlines())
    assert (counted["what"], counted["count"]) == ("product", 6)
    url = f"{shop.url}/product/3"
    told = limpet("dead", "show", broken, url)
    assert told.code == 0
    assert told.out.splitlines()[0].split() == ["page", url]
    assert "Traceback" in told.out or "shop.py" in told.out
    assert "\x1b" not in told.out


def test_a_list_is_cut_and_says_so(broken: Path) -> None:
    ran = limpet("dead", "list", broken, "--limit", 2, "--json")
    assert [json.loads(line)["failures"] for line in ran.out.splitlines()] == [1, 1]
    assert ran.said == ["and 4 more: --limit 0 lists all"]
    assert len(limpet("dead", "list", broken, "--limit", 0).out.splitlines()) == 6


def test_one_is_retried_or_all_and_a_mended_site_is_complete(broken: Path, shop: ShopServer) -> None:
    assert limpet("dead", "retry", broken, f"{shop.url}/product/3").said == ["shop: 1 page due again"]
    assert states(broken) == {"done": 2, "dead": 5, "pending": 1}
    assert limpet("dead", "retry", broken, "--match", "*/product/[1]").said == ["shop: 0 pages due again"]
    assert limpet("dead", "retry", broken, "--all", "--error", "no price").said == ["shop: 5 pages due again"]
    broken.write_text(
        broken.read_text().replace(BROKEN, 'yield Record("product", page.params["n"], {"price": "1"})')
    )
    assert limpet("crawl", broken, "--workers", 1).code == 0
    assert states(broken) == {"done": 8}
    assert limpet("verify", broken).code == 0


def test_nothing_asked_for_is_nothing_done(broken: Path, shop: ShopServer) -> None:
    ran = limpet("dead", "retry", broken)
    assert (ran.code, ran.said) == (
        2,
        ["limpet: which? name URLs, --host, --reason, --error, --match or --all"],
    )
    assert limpet("dead", "show", broken, f"{shop.url}/nowhere").code == 1
    assert limpet("dead", "list", broken, "--by", "colour").code == 2
    assert limpet("dead", "lsit", broken).code == 2
    assert limpet("dead", "list", broken, "--error", "\udcff").code == 2
    assert "retry" in limpet("dead").out
    assert states(broken) == {"done": 2, "dead": 6}


def test_a_crawl_without_dead_pages_lists_none(crawled: Path) -> None:
    ran = limpet("dead", "list", crawled)
    assert (ran.code, ran.out, ran.said) == (0, "", [])
