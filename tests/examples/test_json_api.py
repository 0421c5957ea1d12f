"""A JSON API: POST, cursors that are forgotten, a token, GraphQL, and a server that wants its rest."""

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

NAME = "json_api"
TOKEN = "let-me-in"


def test_a_cursor_that_is_not_followed_is_seen(tmp_path: Path) -> None:
    ran = check_broken(NAME, 'page.pick("next"', 'page.pick("following"', tmp_path)
    assert ran.code == 1
    assert "- link search" in ran.out


def test_a_crawl_gives_every_value(serve: Serve, tmp_path: Path) -> None:
    site = serve(NAME)
    with crawl_of(NAME, "json-api", tmp_path / "crawl", workers=1, environment=around(site.url)) as crawl:
        assert crawl.run() == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert {200, 400, 410, 429} == {request.status for request in site.log()}, "nothing was in the way"
        assert not any(TOKEN.encode() in path.read_bytes() for path in crawl.home.glob("json-api.db*"))


def test_killed_on_the_way_it_ends_the_same(serve: Serve, tmp_path: Path) -> None:
    """What lies before a cursor that was refused is walked again, besides what kills had found in flight."""
    site = serve(NAME)
    site.delay_answers(PAUSE)
    with crawl_of(NAME, "json-api", tmp_path / "crawl", environment=around(site.url)) as crawl:
        assert killed_once(crawl, site, 20) == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        assert repeated(site.log()) <= crawl.in_flight + site.order("walked_again")


def around(url: str) -> dict[str, str]:
    return {"API_URL": url, "CATALOGUE_TOKEN": TOKEN}
