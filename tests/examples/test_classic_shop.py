"""A classic shop: categories in pages, data that several hand down, records in two parts, odd products."""

from __future__ import annotations

import random
from pathlib import Path

from examples.conftest import Serve
from examples.proving import (
    PAUSE,
    check_broken,
    crawl_of,
    killed_at_random,
    message_problems,
    records,
    visits,
)
from examples.served import Served

NAME = "classic_shop"


def test_a_wrong_decimal_sign_is_seen(tmp_path: Path) -> None:
    ran = check_broken(NAME, 'of=card, decimal=","', 'of=card, decimal="."', tmp_path)
    assert ran.code == 1
    assert "card" in ran.out


def test_a_crawl_gives_every_value(serve: Serve, tmp_path: Path) -> None:
    site = serve(NAME)
    with crawl_of(
        NAME, "classic-shop", tmp_path / "crawl", workers=1, environment={"SHOP_URL": site.url}
    ) as crawl:
        assert crawl.run() == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert "1 record not shown yet" in crawl.said, "listed, and its own page is not there"
        assert "/cart" not in {request.target.partition("?")[0] for request in site.log()}


def test_killed_at_random_it_ends_the_same(serve: Serve, tmp_path: Path) -> None:
    """A product may be read once for each of its categories: it is read again when one more hands it down."""
    site, choice = serve(NAME), random.Random(11)
    site.delay_answers(PAUSE)
    with crawl_of(NAME, "classic-shop", tmp_path / "crawl", environment={"SHOP_URL": site.url}) as crawl:
        assert killed_at_random(crawl, site, choice, (5, 25)) == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert too_many(site) <= crawl.in_flight


def too_many(site: Served) -> int:
    """Visits beyond one for each page, and of a product beyond one for each of its categories."""
    categories = {f"product/{n}": count for n, count in enumerate(site.order("categories_of_each"))}
    allowed = {page: categories.get("/".join(page.split("/")[1:3]), 1) for page in visits(site.log())}
    return sum(max(0, count - allowed[page]) for page, count in visits(site.log()).items())
