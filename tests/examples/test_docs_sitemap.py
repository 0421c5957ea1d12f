"""A documentation site by its sitemaps, and a second round that reads what has changed."""

from __future__ import annotations

from pathlib import Path

from e2e.helpers import Crawl, eventually
from examples.conftest import Serve
from examples.proving import (
    PAUSE,
    check_broken,
    crawl_of,
    killed_once,
    message_problems,
    records,
    repeated,
    visits,
)
from examples.served import Served

NAME = "docs_sitemap"
CHANGED = ["install/3", "guide/7", "guide/8", "history/50"]
NEW = ["recipes/56"]
PARTS = ("install", "guide", "reference", "recipes", "history")
SITEMAPS = {"/sitemap.xml", *(f"/sitemaps/{part}.xml.gz" for part in PARTS)}


def test_a_section_known_by_its_heading_is_seen(tmp_path: Path) -> None:
    ran = check_broken(NAME, 'page.one("::attr(id)", of=section)', 'page.one("h2", of=section)', tmp_path)
    assert ran.code == 1
    assert "- section" in ran.out


def test_a_crawl_gives_every_value_and_the_next_round_reads_what_has_changed(
    serve: Serve, tmp_path: Path
) -> None:
    site = serve(NAME)
    with crawl_of(NAME, "docs", tmp_path / "crawl", workers=1, environment={"DOCS_URL": site.url}) as crawl:
        assert crawl.run() == 0, crawl.said
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        mark, before = site.mark(), crawl.versions()
        site.order("change", CHANGED, NEW)
        assert crawl.run("--refresh") == 0, crawl.said
        assert only_changes_were_read(site, mark)
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []
        stepped = {key for key, version in crawl.versions().items() if version != before.get(key, 1)}
        assert len(stepped) == 3 * len(CHANGED), "the sections of the changed pages, and no page"


def test_killed_in_either_round_it_ends_the_same(serve: Serve, tmp_path: Path) -> None:
    site = serve(NAME)
    site.delay_answers(PAUSE)
    with crawl_of(NAME, "docs", tmp_path / "crawl", environment={"DOCS_URL": site.url}) as crawl:
        assert killed_once(crawl, site, 40) == 0, crawl.said
        assert records(crawl) == site.expected()
        assert repeated(site.log()) <= crawl.in_flight

        mark, crawl.in_flight = site.mark(), 0
        site.order("change", CHANGED, NEW)
        kill_on_the_way(crawl, site, mark, 6)
        assert crawl.run() == 0, crawl.said
        assert only_changes_were_read(site, mark)
        assert repeated(site.requests_since(mark)) <= crawl.in_flight
        assert records(crawl) == site.expected()
        assert message_problems(crawl) == []


def kill_on_the_way(crawl: Crawl, site: Served, mark: int, count: int) -> None:
    crawl.start("--refresh")
    eventually(lambda: len(site.requests_since(mark)) >= count, f"{count} requests never came")
    crawl.kill_everything()


def only_changes_were_read(site: Served, mark: int) -> bool:
    """The sitemaps and the pages whose lastmod is another; and the one that is not there, as long as it is listed."""
    pages = {f"/docs/{name}.html" for name in (*CHANGED, *NEW)}
    return visits(site.requests_since(mark)).keys() - {"/docs/guide/55.html"} == pages | SITEMAPS
