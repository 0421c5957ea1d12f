"""Where a crawl starts: functions that give seeds, sitemaps, and what a site says of either that cannot be."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from front_helpers import limpet

from limpet import Link, Site, request
from limpet.load import load_site
from limpet_producer import enqueue
from limpet_store.admission import HostRules
from limpet_store.canonical import admit
from limpet_store.errors import SiteError
from limpet_store.scope import Scope
from limpet_store.store import Store

RULES = HostRules(robots=False)
SOME = "https://h.example/"


def urls(count: int) -> Iterator[str]:
    return (f"{SOME}{n}" for n in range(count))


async def later() -> AsyncIterator[str]:
    yield SOME


async def coroutine() -> list[str]:
    return [SOME]


def rows(store: Store) -> int:
    return int(store.db.value("SELECT count(*) FROM pages"))


@pytest.mark.parametrize(
    "seeds",
    [lambda: urls(3), lambda: list(urls(3)), lambda: [Link(f"{SOME}0"), f"{SOME}1", f"{SOME}2"]],
    ids=["generator", "list", "links"],
)
def test_a_function_is_called_each_time_the_seeds_are_wanted(seeds: Any) -> None:
    site = Site("shop", seeds)
    for _ in range(2):
        assert [link.url for link in site.entries] == list(urls(3))
    assert site.seeds == ()


def test_it_is_not_called_before() -> None:
    Site("shop", seeds=lambda: 1 / 0)  # type: ignore[arg-type, return-value]


def test_a_page_that_a_function_gives_widens_the_scope(store: Store) -> None:
    enqueue.seeds(store, Site("shop", lambda: [SOME]).entries, RULES, now=1)
    assert admit(f"{SOME}other") in Scope(store.db)


def test_seeds_are_stored_as_they_come(store: Store) -> None:
    def watched() -> Iterator[str]:
        for given, url in enumerate(urls(3_500)):
            assert given - rows(store) <= enqueue.CHUNK
            yield url

    assert enqueue.seeds(store, Site("shop", watched).entries, RULES, now=1).new == 3_500
    assert enqueue.seeds(store, Site("shop", watched).entries, RULES, now=1).known == 3_500


def test_what_a_function_gave_before_it_failed_stays_in_whole_chunks(store: Store) -> None:
    def failing() -> Iterator[str]:
        yield from urls(2_500)
        raise RuntimeError("the list\nends here")

    with pytest.raises(
        SiteError, match=r"seeds: raised RuntimeError: the list ends here \(line \d+ of .*seeding"
    ):
        enqueue.seeds(store, Site("shop", failing).entries, RULES, now=1)
    assert rows(store) == 2_000


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (lambda: "https://h.example/", "gave 'https://h.example/', not URLs"),
        (lambda: None, "gave None, not URLs"),
        (lambda: [SOME, "/relative"], "seed '/relative': not an absolute"),
        (lambda: [None], "seed None: not an absolute"),
        (lambda needed: [SOME], "raised TypeError"),
        (lambda: exec("raise SystemExit(3)"), "raised SystemExit: 3"),
    ],
)
def test_a_function_that_gives_no_urls_is_an_error_of_the_site(seeds: Any, words: str) -> None:
    with pytest.raises(SiteError) as error:
        list(Site("shop", seeds).entries)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (request(SOME, data={"a": {1, 2}}), "data.a: set is not JSON"),
        (request(SOME, data="x" * 20_000), "at most 16384 can be handed down"),
        (request(SOME, data="a", merge="list"), "merge collects what pages hand down"),
        (Link(SOME, kind="robots"), "kind: "),
        (Link(SOME, key=""), "key '': a text of 1 to"),
        (Link(SOME, priority=2_000_000), "a whole number within a million"),
    ],
)
def test_a_seed_is_held_to_what_a_link_can_be(seed: Link, words: str) -> None:
    with pytest.raises(SiteError) as error:
        Site("shop", [seed])
    assert f"seed '{SOME}': " in str(error.value)
    assert words in str(error.value)
    with pytest.raises(SiteError, match=words):
        list(Site("shop", lambda: [seed]).entries)


def test_a_seed_to_a_handler_that_is_not_there_is_refused_when_the_file_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    words = r"seed 'https://h.example/': there is no handler 'items'"
    text = (
        "from limpet import Site, request\n"
        "def seeds():\n    yield request('https://h.example/', to='{to}')\n"
        "site = Site('shop', {seeds})\n"
        "@site.page('/')\ndef item(page): ...\n"
    )
    file.write_text(text.format(to="items", seeds="list(seeds())"))
    with pytest.raises(SiteError, match=words):
        load_site(file)
    file.write_text(text.format(to="items", seeds="seeds"))
    with pytest.raises(SiteError, match=words):
        list(load_site(file).entries)
    file.write_text(text.format(to="item", seeds="seeds"))
    assert [link.to for link in load_site(file).entries] == ["item"]


@pytest.mark.parametrize("seeds", [later, coroutine])
def test_an_async_function_gives_no_seeds(seeds: Any) -> None:
    with pytest.raises(SiteError, match="not an async one"):
        Site("shop", seeds)


def test_a_crawl_whose_seeds_fail_ends_with_one_line(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text('from limpet import Site\nsite = Site("shop", seeds=lambda: [1 / 0])\n')
    ran = limpet("crawl", file)
    assert ran.code == 2
    assert "seeds: raised ZeroDivisionError: division by zero (line 2 of " in ran.said[-1]
    assert "Traceback" not in ran.err


# -- sitemaps


def test_sitemaps_are_started_from_before_pages_and_are_in_scope() -> None:
    site = Site("shop", sitemaps=[f"{SOME}s.xml"])
    assert list(site.entries) == [Link(f"{SOME}s.xml", kind="sitemap", priority=1)]
    assert site.authorities == {"h.example"}
    assert site.seeds == ()


def test_a_page_and_a_sitemap_of_one_url_are_two(store: Store) -> None:
    site = Site("shop", [SOME], sitemaps=[SOME])
    enqueue.seeds(store, site.entries, RULES, now=1)
    assert store.db.rows("SELECT key, kind FROM pages") == [(SOME, "page"), (f"sitemap {SOME}", "sitemap")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sitemaps": f"{SOME}s.xml"}, "sitemaps: a list"),
        ({"sitemaps": ["/s.xml"]}, "sitemap '/s.xml': not an absolute"),
        ({"sitemaps": 1}, "sitemaps: a list"),
        ({"sitemaps": True}, "name the sitemaps"),
        ({"sitemaps": True, "seeds": [SOME], "robots": False}, "name the sitemaps"),
        ({"lastmod": True, "seeds": [SOME]}, "lastmod=True without sitemaps"),
        ({"lastmod": 1, "sitemaps": [SOME]}, "lastmod 1: True or False"),
        ({}, "nothing in scope"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SiteError, match=words):
        Site("shop", **options)


def test_all_that_makes_sense_together_does() -> None:
    several: Iterable[Site] = (
        Site("shop", [SOME], sitemaps=True, lastmod=True),
        Site("shop", lambda: [SOME], sitemaps=True),
        Site("shop", sitemaps=[SOME], robots=False, lastmod=True),
        Site("shop", [SOME], sitemaps=False),
    )
    assert [site.sitemaps for site in several] == [True, True, (SOME,), ()]
