"""Which page comes first: by priority, deeper ones where the site says so, else those that were found first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from consuming import BASE, Bench, html

from limpet import Page, Record, Site
from limpet_store import refreshing
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

TREE = {
    "/": html('<a href="/a">a</a><a href="/b">b</a><a href="/c">c</a><a href="/d">d</a>'),
    "/a": html('<a href="/a/1">1</a>'),
    "/a/1": html('<a href="/a/1/x">x</a>'),
} | {path: html("<p>") for path in ("/b", "/c", "/d", "/a/1/x")}


def tree(**options: Any) -> Site:
    site = Site("shop", [f"{BASE}/"], robots=False, allow_private=True, **options)
    site.tune(group=1, threads=1)

    @site.page("/{path:path}")
    def page(page: Page) -> Iterator[Any]:
        yield from page.links()

    return site


def visited(store: Store, server: Server, site: Site, answers: Any) -> list[str]:
    bench = Bench(store, server, answers, site)
    bench.crawl()
    return bench.web.log


def test_a_site_is_visited_level_by_level(store: Store, any_server: Server) -> None:
    seen = ["/", "/a", "/b", "/c", "/d", "/a/1", "/a/1/x"]
    assert visited(store, any_server, tree(), TREE) == seen
    assert visited(store, any_server, tree(order="breadth"), TREE) == [], "it is finished"


def test_depth_first_finishes_a_branch_before_the_next(store: Store, any_server: Server) -> None:
    """But for the page that is leased already while its neighbour is read."""
    seen = ["/", "/a", "/b", "/a/1", "/c", "/a/1/x", "/d"]
    assert visited(store, any_server, tree(order="depth"), TREE) == seen


def test_a_links_priority_decides_and_may_be_below_0(store: Store, any_server: Server) -> None:
    site = Site("shop", [f"{BASE}/"], robots=False, allow_private=True)
    site.tune(group=1, threads=1)

    @site.page("/")
    def home(page: Page) -> Iterator[Any]:
        for path, priority in (("/last", -30), ("/late", -1), ("/plain", 0), ("/first", 2), ("/early", 1)):
            yield page.link(path, priority=priority)

    answers = {"/": html("<p>")} | {
        f"/{name}": html("<p>") for name in ("last", "late", "plain", "first", "early")
    }
    assert visited(store, any_server, site, answers) == ["/", "/first", "/early", "/plain", "/late", "/last"]


def test_a_page_that_is_given_back_keeps_its_place(store: Store, any_server: Server) -> None:
    site = tree()
    bench = Bench(store, any_server, {"/": html("<p>")}, site)
    bench.crawl()
    for path, priority in (("/x", 0), ("/y", 3), ("/z", 1)):
        bench.answers_to(path, priority)
    frontier = bench.worker().frontier
    taken = frontier.lease("n-1", 1, 1, lease=20_000, slack=100).leases
    assert [bench.path_of(lease.page) for lease in taken] == ["/y"]
    assert frontier.release(taken) == 1
    bench.crawl()
    assert bench.web.log[1:] == ["/y", "/z", "/x"]


def test_a_page_with_a_period_is_visited_again_by_itself_and_keeps_its_record_in_step(
    store: Store, any_server: Server
) -> None:
    site = Site("shop", [f"{BASE}/p/1", f"{BASE}/q"], robots=False, allow_private=True)

    @site.page("/p/{n}", refresh="1h")
    def product(page: Page) -> Iterator[Any]:
        yield Record("product", page.params["n"], {"price": page.one("p")})

    bench = Bench(store, any_server, {"/p/1": html("<p>1</p>"), "/q": html("<p>")}, site)
    bench.crawl()
    due = refreshing.soonest(store.db)
    assert due is not None
    assert wall_ms() < due <= wall_ms() + 3_600_000
    bench.web.answers["/p/1"] = html("<p>2</p>")
    with store.db.write():
        store.db.run("UPDATE pages SET refresh_at = ? WHERE refresh_at = ?", (wall_ms(), due))
    assert refreshing.make_due(store, wall_ms(), 3_600_000) == 1
    bench.crawl()
    assert bench.web.log == ["/p/1", "/q", "/p/1"]
    assert bench.records() == {"1": '{"price":"2"}'}
    assert bench.page("/p/1", "state") == ("done",)
    assert refreshing.soonest(store.db) is not None
