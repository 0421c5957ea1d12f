"""A site that wants a login: a form with a token, sessions that end on the way, pages that lie to strangers."""

from __future__ import annotations

from pathlib import Path

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

NAME = "login"
PASSWORD = "open-sesame"


def test_a_price_that_is_looked_for_elsewhere_is_seen(tmp_path: Path) -> None:
    ran = check_broken(NAME, 'page.price(".price")', 'page.price(".cost")', tmp_path)
    assert ran.code == 1
    assert "offer-0:" in ran.out


def test_a_crawl_gives_every_value(serve: Serve, tmp_path: Path) -> None:
    site = serve(NAME)
    with crawl_of(NAME, "club", tmp_path / "crawl", workers=1, environment=around(site.url)) as crawl:
        assert crawl.run() == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert repeated(site.log()) == 0
        assert site.order("counts")["logins"] >= 4, "no session ended on the way"
        assert not any(PASSWORD.encode() in path.read_bytes() for path in crawl.home.glob("club.db*"))


def test_killed_on_the_way_it_ends_the_same(serve: Serve, tmp_path: Path) -> None:
    """What a stranger was shown is in the site's log as no page: it is asked for again. So is nothing else."""
    site = serve(NAME)
    site.delay_answers(PAUSE)
    with crawl_of(NAME, "club", tmp_path / "crawl", environment=around(site.url)) as crawl:
        assert killed_once(crawl, site, 12) == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert repeated(site.log()) <= crawl.in_flight


def around(url: str) -> dict[str, str]:
    return {"CLUB_URL": url, "CLUB_PASSWORD": PASSWORD}
