"""Scope at the command line: what is left out is told, and URLs are known by the site's rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from front_helpers import limpet
from small_site import SmallSite, small_site

TEXT = """
from limpet import Page, Record, Site

site = Site(
    "market", seeds=SEEDS, allow_private=True, include=["/p/{n}"], exclude=["/p/no{n}"], drop_params=["ref"], OPTIONS
)


@site.page("/")
def home(page: Page):
    yield from page.links()


@site.page("/p/{n}")
def product(page: Page):
    yield Record("product", key=page.params["n"], data={"at": page.url})
"""
LINKS = '<a href="/p/1?ref=a">1</a> <a href="/p/no1">no</a> <a href="/p/no2">no</a> <a href="/other">o</a>'


@pytest.fixture
def web() -> Iterator[SmallSite]:
    with small_site({"/": LINKS, "/p/1": "one", "/p/2": "two", "/p/2?ref=x": "two"}) as served:
        yield served


def written(folder: Path, seeds: str, options: str = "") -> Path:
    path = folder / "market.py"
    path.write_text(TEXT.replace("SEEDS", seeds).replace("OPTIONS", options))
    return path


@pytest.fixture
def crawled(tmp_path: Path, web: SmallSite) -> Path:
    path = written(tmp_path, f'["{web.url}/"]')
    ran = limpet("crawl", path, "--workers", "1")
    assert ran.code == 0, ran.err
    assert "2 links not followed: excluded" in ran.err
    assert "1 link not followed: not included" in ran.err
    return path


def test_a_page_is_found_under_either_spelling(crawled: Path, web: SmallSite) -> None:
    assert "GET /p/1" in web.asked
    for url in (f"{web.url}/p/1", f"{web.url}/p/1?ref=other"):
        ran = limpet("show", crawled, url)
        assert (ran.code, ran.out.splitlines()[0]) == (0, f"page     {web.url}/p/1")
    ran = limpet("show", crawled, f"{web.url}/")
    assert "dropped  links not followed: 2 excluded, 1 not included" in ran.out


def test_a_page_that_the_rules_leave_out_is_told_with_where_it_was_linked(
    crawled: Path, web: SmallSite
) -> None:
    ran = limpet("show", crawled, f"{web.url}/p/no1")
    assert ran.code == 1
    assert "why      excluded: the rules of the site file leave it out" in ran.out
    assert f"2 links left out so on {web.url}/" in ran.out


def test_what_is_enqueued_is_known_by_the_rules(crawled: Path, web: SmallSite) -> None:
    ran = limpet(
        "enqueue", crawled, f"{web.url}/p/1?ref=z", f"{web.url}/p/2?ref=x", f"{web.url}/p/no3", f"{web.url}/q"
    )
    assert ran.code == 0
    assert "1 new, 1 known, 2 rejected (1 excluded, 1 not included)" in ran.err


def test_a_try_asks_for_the_page_as_a_crawl_would(crawled: Path, web: SmallSite) -> None:
    web.asked.clear()
    ran = limpet("try", crawled, f"{web.url}/p/2?ref=x")
    assert ran.code == 0
    assert "GET /p/2" in web.asked
    told = limpet("try", crawled, f"{web.url}/").out
    assert "excluded" in told
    assert "not included" in told


def test_a_store_with_dropped_parameters_is_sound(crawled: Path) -> None:
    ran = limpet("verify", crawled)
    assert ran.code == 0, ran.out + ran.err


def test_a_seed_that_is_excluded_is_a_mistake(tmp_path: Path) -> None:
    ran = limpet("crawl", written(tmp_path, '["http://127.0.0.1:1/p/no1"]'))
    assert ran.code == 2
    assert "seed 'http://127.0.0.1:1/p/no1': exclude leaves it out" in ran.err


def test_seeds_of_a_function_that_are_left_out_are_counted(tmp_path: Path, web: SmallSite) -> None:
    path = written(tmp_path, f'lambda: ["{web.url}/p/" + n for n in ("1", "2", "no1", "no2")]', "max_pages=1")
    ran = limpet("crawl", path, "--workers", "1")
    assert ran.code == 0, ran.err
    assert "2 seeds left out: excluded" in ran.err
    assert "1 seed left out: too many pages of its host" in ran.err


def test_a_wider_rule_takes_hold_with_the_next_refresh(tmp_path: Path, web: SmallSite) -> None:
    path = written(tmp_path, f'["{web.url}/"]')
    limpet("crawl", path, "--workers", "1")
    web.pages["/p/no1"] = "no"
    path.write_text(path.read_text().replace('exclude=["/p/no{n}"], ', ""))
    ran = limpet("crawl", path, "--workers", "1", "--refresh")
    assert ran.code in (0, 3), ran.err
    assert "GET /p/no1" in web.asked
