"""A shop with JSON-LD: variants, several offers, broken blocks, OpenGraph where there is nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from e2e.helpers import Crawl
from examples.conftest import Serve
from examples.proving import (
    PAUSE,
    check_broken,
    crawl_of,
    killed_once,
    message_problems,
    records,
    repeated,
)

NAME = "jsonld_shop"
IMPERFECT = 3  # its sizes of one product are rejected: a price "on request" is none


def without_ratings(crawl: Crawl) -> dict[tuple[str, str], Any]:
    found = records(crawl)
    for data in found.values():
        del data["ratings"]
    return found


def test_a_used_one_taken_for_new_is_seen(tmp_path: Path) -> None:
    ran = check_broken(NAME, "if not offer.get(", "if offer.get(", tmp_path)
    assert ran.code == 1
    assert "jersey-1:" in ran.out


def test_a_crawl_gives_every_value_and_a_new_rating_is_no_new_version(serve: Serve, tmp_path: Path) -> None:
    site = serve(NAME)
    with crawl_of(
        NAME, "jsonld-shop", tmp_path / "crawl", workers=1, environment={"SHOP_URL": site.url}
    ) as crawl:
        assert crawl.run() == IMPERFECT, crawl.said
        assert without_ratings(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert crawl.ask("SELECT DISTINCT field, value FROM rejections") == [("price", "on request")]
        before = crawl.messages()
        assert crawl.run("--refresh") == IMPERFECT, crawl.said
        (round_finished,) = crawl.messages() - before
        assert round_finished.startswith("round:")


def test_killed_on_the_way_it_ends_the_same(serve: Serve, tmp_path: Path) -> None:
    site = serve(NAME)
    site.delay_answers(PAUSE)
    with crawl_of(NAME, "jsonld-shop", tmp_path / "crawl", environment={"SHOP_URL": site.url}) as crawl:
        assert killed_once(crawl, site, 9) == IMPERFECT, crawl.said
        assert without_ratings(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert repeated(site.log()) <= crawl.in_flight
