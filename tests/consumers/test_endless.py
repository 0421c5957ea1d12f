"""Sites without an end, and rules of scope as a crawl applies them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from consuming import BASE, Answer, Bench, Web, html, moved

from limpet import Page, Record, Site
from limpet_consumers.http import Request, Response
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

THIS_YEAR = time.gmtime().tm_year


class Endless(Web):
    """Answers any path with the links that a site makes of it."""

    def fetch(self, request: Request, deadline: float) -> Response:
        path = request.url.removeprefix(BASE)
        self.log.append(path)
        if path in self.answers:
            return super().fetch(request, deadline)
        return html("".join(f'<a href="{href}">' for href in self.links(path)))

    def links(self, path: str) -> list[str]:
        raise NotImplementedError


class Growing(Endless):
    def links(self, path: str) -> list[str]:
        return ["more/", "x.html"]


class Calendar(Endless):
    def links(self, path: str) -> list[str]:
        _, _, year, month = path.split("/")
        at = int(year) * 12 + int(month) - 1
        return [f"/events/{to // 12}/{to % 12 + 1:02}" for to in (at + 1,)]


class Adding(Endless):
    def links(self, path: str) -> list[str]:
        return [f"{path}{'&' if '?' in path else '?'}page={path.count('page') + 1}"]


class Sessions(Endless):
    """A new session in each link of each answer."""

    def links(self, path: str) -> list[str]:
        return [f"/{page};jsessionid={len(self.log)}{page}?PHPSESSID={len(self.log)}" for page in "abc"]


def follows(seed: str, **options: Any) -> Site:
    site = Site("endless", [f"{BASE}{seed}"], robots=False, allow_private=True, **options)

    @site.page("/{rest:path}")
    def every(page: Page) -> Any:
        yield from page.links()

    return site


def crawled(
    store: Store, server: Server, web: type[Web], site: Site, answers: Mapping[str, Answer] = {}
) -> Bench:
    bench = Bench(store, server, answers, site)
    bench.web = web(dict(answers), bench.web.log)
    bench.crawl(turns=2_000)
    assert not store.db.rows("SELECT key FROM pages WHERE state = 'pending'")
    return bench


def left_out(store: Store) -> dict[str, int]:
    counts: dict[str, int] = {}
    for (text,) in store.db.rows("SELECT dropped FROM pages WHERE dropped IS NOT NULL"):
        for reason, count in json.loads(text).items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


@pytest.mark.parametrize(
    ("web", "seed", "most", "reason"),
    [
        (Growing, "/", 10, "trap: growing path"),
        (Calendar, f"/events/{THIS_YEAR}/01", 132, "trap: endless calendar"),
        (Adding, "/list", 3, "trap: repeated parameter"),
    ],
)
def test_an_endless_site_is_crawled_to_an_end(
    store: Store, real_server: Server, web: type[Web], seed: str, most: int, reason: str
) -> None:
    bench = crawled(store, real_server, web, follows(seed))
    assert 2 < len(bench.web.log) <= most
    assert set(left_out(store)) == {reason}


def test_session_ids_make_no_pages(store: Store, real_server: Server) -> None:
    bench = crawled(store, real_server, Sessions, follows("/a"))
    assert sorted(bench.web.log) == ["/a", "/b", "/c"], "asked for without one"
    assert bench.page("/b", "url")[0].startswith(f"{BASE}/b;jsessionid=")


def test_without_guards_other_bounds_end_it(store: Store, real_server: Server) -> None:
    bench = crawled(store, real_server, Growing, follows("/", traps=False, max_depth=7))
    assert len(bench.web.log) == 1 + 2 * 7
    assert left_out(store) == {"too deep": 4}, "two links of each of the last two pages"


def test_a_host_is_left_when_it_has_as_many_pages_as_it_may(store: Store, real_server: Server) -> None:
    bench = crawled(store, real_server, Growing, follows("/", traps=False, max_pages=9))
    assert len(bench.web.log) == 9
    assert left_out(store) == {"too many pages of its host": 2}


def market(**options: Any) -> Site:
    site = Site("market", [f"{BASE}/"], robots=False, allow_private=True, **options)

    @site.page("/")
    def home(page: Page) -> Any:
        yield from page.links()

    @site.page("/p/{n}")
    def product(page: Page) -> Any:
        yield Record("product", page.params["n"], {"at": page.url})

    return site


def listed(*paths: str) -> Response:
    body = "".join(f"<url><loc>{BASE}{path}</loc></url>" for path in paths)
    return Response("", 200, {"content-type": "application/xml"}, f"<urlset>{body}</urlset>".encode())


def test_a_redirect_and_a_sitemap_lead_to_what_a_link_would(store: Store, real_server: Server) -> None:
    site = market(
        sitemaps=[f"{BASE}/s.xml"], include=["/p/{n}"], exclude=["/p/no{n}"], max_depth=1, drop_params=["ref"]
    )
    answers = {
        "/": html("".join(f'<a href="{to}">' for to in ("/p/1?ref=a", "/p/1?ref=b", "/p/2", "/p/no1", "/q"))),
        "/p/1": html(""),
        "/p/2": moved("/p/no2"),
        "/s.xml": listed("/p/1?ref=c", "/p/3", "/p/no3", "/p/no4", "/r", "/p/shop/shop/shop"),
        "/p/3": moved("/p/1?ref=d"),
    }  # fmt: skip
    bench = crawled(store, real_server, Web, site, answers)
    assert sorted(bench.web.log) == ["/", "/p/1", "/p/2", "/p/3", "/s.xml"]
    assert bench.records() == {"1": f'{{"at":"{BASE}/p/1"}}'}
    assert json.loads(bench.page("/", "dropped")[0]) == {"excluded": 1, "not included": 1}
    assert bench.page("/p/2", "state", "dropped") == ("alias", '{"excluded": 1}')
    assert bench.page_of(f"sitemap {BASE}/s.xml", "dropped")[0] == json.dumps(
        {"excluded": 2, "not included": 2}
    )
    assert bench.page("/p/3", "state", "depth") == ("alias", 1)


def test_where_a_seed_redirects_to_need_not_be_included(store: Store, real_server: Server) -> None:
    site = market(include=["/p/{n}"], exclude=["/closed"])
    bench = crawled(store, real_server, Web, site, {"/": moved("/start"), "/start": html("")})
    assert bench.web.log == ["/", "/start"]
    bench.web.answers |= {"/": moved("/closed")}
    bench.again()
    bench.crawl()
    assert bench.page("/", "state", "dropped") == ("alias", '{"excluded": 1}')
    assert "/closed" not in bench.web.log


def test_a_redirect_that_only_adds_what_is_dropped_is_followed_as_it_says(
    store: Store, real_server: Server
) -> None:
    answers = {
        "/": moved("/?ref=1&x=ü".encode().decode("latin-1")),
        "/?ref=1&x=%C3%BC": html('<a href="/p/1">'),
    }
    bench = crawled(store, real_server, Web, market(drop_params=["ref", "x"]), answers)
    assert bench.web.log[:2] == ["/", "/?ref=1&x=%C3%BC"]
    assert bench.page("/", "state") == ("done",)


def test_a_redirect_into_a_trap_ends_there(store: Store, real_server: Server) -> None:
    answers = {"/": html('<a href="/p/p1">'), "/p/p1": moved("/p/one/p/one/p/one")}
    bench = crawled(store, real_server, Web, market(), answers)
    assert bench.page("/p/p1", "state", "dropped") == ("alias", '{"trap: growing path": 1}')


def test_a_redirect_within_a_visit_minds_the_rules(store: Store, real_server: Server) -> None:
    answers = {"/": html('<a href="/p/1"> <a href="/p/2">'), "/p/1": moved("/p/no"), "/p/2": moved("/p/3"),
               "/p/3": html("")}  # fmt: skip
    bench = crawled(store, real_server, Web, market(follow="inline", exclude=["/p/no"]), answers)
    assert sorted(bench.web.log) == ["/", "/p/1", "/p/2", "/p/3"]
    assert bench.page("/p/2", "state") == ("done",)


def test_pages_that_wait_are_let_be_when_they_are_excluded(store: Store, real_server: Server) -> None:
    answers = {"/": html('<a href="/p/1"> <a href="/p/2">'), "/p/1": html(""), "/p/2": html("")}
    bench = Bench(store, real_server, answers, market())
    worker = bench.worker()
    while not store.db.rows("SELECT 1 FROM pages WHERE key LIKE '%/p/%'"):
        worker.turn()
    worker.site.bounds = market(exclude=["/p/2"]).bounds  # as after a restart with another file
    bench.crawl()
    assert bench.web.log == ["/", "/p/1"]
    assert bench.page("/p/2", "state", "reason") == ("dead", "excluded")


def test_excluded_pages_take_no_room_and_no_turn_in_a_later_round(store: Store, real_server: Server) -> None:
    both = {
        "/": html('<a href="/p/1"> <a href="/p/2">'),
        "/p/1": html(""),
        "/p/2": html(""),
        "/p/3": html(""),
    }
    Bench(store, real_server, both, market(max_pages=3)).crawl()
    fewer = Bench(store, real_server, both, market(max_pages=3, exclude=["/p/2"]))
    fewer.again()
    fewer.crawl()
    assert fewer.page("/p/2", "state", "reason") == ("dead", "excluded")
    fewer.web.answers["/"] = html('<a href="/p/1"> <a href="/p/3">')
    fewer.again()
    assert fewer.page("/p/2", "state") == ("dead",), "it is not even leased"
    fewer.crawl()
    assert fewer.page("/p/3", "state") == ("done",)

    store.take_code("other rules", now=wall_ms())
    wanted = Bench(store, real_server, both, market())
    wanted.again()
    wanted.crawl()
    assert wanted.page("/p/2", "state") == ("done",)


def test_a_star_lets_in_the_names_below_a_host(store: Store, real_server: Server) -> None:
    there = "http://a.shop.localhost/p/1"
    answers: dict[str, Answer] = {"/": html(f'<a href="{there}"> <a href="http://shop.localhost/p/2">')}
    bench = Bench(store, real_server, answers, market(hosts=["*.shop.localhost"]))
    bench.web.answers[there] = html("")
    bench.crawl()
    assert bench.web.log == ["/", there]
    assert json.loads(bench.page("/", "dropped")[0]) == {"out of scope": 1}
