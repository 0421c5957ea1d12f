"""Redirects that are followed within a page's lease: what is asked, with which cookies, when, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from consuming import BASE, Bench, html, moved

from limpet import Page, Record, Site
from limpet_consumers.following import MOST_BACK
from limpet_consumers.http import Request, Response
from limpet_consumers.turn import Worker
from limpet_store import outbox
from limpet_store.ops import split
from limpet_store.server import Server
from limpet_store.store import Store


@pytest.fixture
def bench(store: Store, real_server: Server) -> Callable[..., Bench]:
    def make(answers: dict[str, Any], **options: Any) -> Bench:
        site = Site("shop", [f"{BASE}/a"], **{"robots": False, **options})

        @site.page("/{rest:path}")
        def anything(page: Page) -> Any:
            yield Record("page", page.url.removeprefix(BASE), {"base": page.base.removeprefix(BASE)})
            yield from page.links()

        return Bench(store, real_server, answers, site)

    return make


def sets(to: str, *cookies: str, status: int = 302) -> Response:
    return Response("", status, {"location": to}, b"", set_cookies=cookies)


def bounced(name: str, then: Response, to: str = "/a") -> Callable[[Request], Response]:
    """Sets a cookie and sends the visitor back to the page, until the cookie comes back."""

    def answer(request: Request) -> Response:
        return then if f"{name}=1" in request.headers.get("Cookie", "") else sets(to, f"{name}=1; Path=/")

    return answer


def test_a_site_that_looks_whether_its_cookie_comes_back_is_read_in_one_visit(bench: Any) -> None:
    made = bench({"/a": bounced("seen", html("x"))})
    made.crawl()
    assert made.web.log == ["/a", "/a"]
    assert made.page("/a", "state", "failures", "fence") == ("done", 0, 1)
    assert list(made.records()) == ["/a"]


def test_cookies_end_with_the_lease_of_their_page(bench: Any) -> None:
    made = bench({"/a": bounced("seen", html('<a href="/b">b</a>')), "/b": bounced("seen", html("x"), "/b")})
    made.crawl()
    assert made.web.log == ["/a", "/a", "/b", "/b"]


def test_a_cookie_of_another_path_or_host_is_not_sent_along(bench: Any) -> None:
    seen = []

    def answer(request: Request) -> Response:
        seen.append(request.headers.get("Cookie"))
        return html("x") if len(seen) > 1 else sets(
            "/a", "here=1", "there=1; Path=/x", "abroad=1; Domain=example.com", "over=1; Max-Age=0", "safe=1; Secure"
        )  # fmt: skip

    bench({"/a": answer}).crawl()
    assert seen == [None, "here=1"]


def test_a_page_that_leads_to_itself_for_ever_ends_after_five_hops(bench: Any) -> None:
    made = bench({"/a": moved("/a#top")})
    made.crawl()
    assert made.web.log == ["/a"] * (1 + MOST_BACK)
    assert made.page("/a", "state", "reason", "failures") == ("pending", "redirect", 1)


def test_another_page_is_never_followed_within_the_lease(bench: Any) -> None:
    made = bench({"/a": moved("/b"), "/b": html("x")})
    made.crawl()
    assert made.page("/a", "state") == ("alias",)
    assert list(made.records()) == ["/b"]


def test_inline_the_whole_chain_is_one_page_whose_links_start_from_its_end(bench: Any) -> None:
    made = bench(
        {"/a": sets("/x/b", "id=7; Path=/"), "/x/b": moved("/x/c"), "/x/c": html("<a href=d>d</a>"), "/x/d": html("x")},
        follow="inline",
    )  # fmt: skip
    made.crawl()
    assert made.web.log == ["/a", "/x/b", "/x/c", "/x/d"]
    assert made.page("/a", "state") == ("done",)
    assert made.records() == {"/a": '{"base":"/x/c"}', "/x/d": '{"base":"/x/d"}'}


def test_inline_a_redirect_to_another_host_is_an_alias(bench: Any) -> None:
    other = "http://localhost/b"
    made = bench({"/a": moved(other), other: html("x")}, follow="inline")
    made.crawl()
    assert made.page("/a", "state", "error") == ("alias", other)
    assert made.page_of(other, "state") == ("done",)


def test_inline_a_chain_without_end_is_a_failure_after_ten_hops(bench: Any) -> None:
    chain: dict[str, Any] = {f"/{n}": moved(f"/{n + 1}") for n in range(30)}
    made = bench({"/a": moved("/0"), **chain}, follow="inline")
    made.crawl()
    assert len(made.web.log) == 11
    assert made.page("/a", "state", "reason") == ("pending", "redirect")


def test_inline_robots_txt_holds_for_each_hop(bench: Any) -> None:
    robots = Response("", 200, {}, b"User-agent: *\nDisallow: /private")
    made = bench({"/robots.txt": robots, "/a": moved("/private/b")}, follow="inline", robots=True)
    made.crawl()
    assert made.web.log == ["/robots.txt", "/a"]
    assert made.page("/private/b", "state", "reason") == ("dead", "robots")


def test_inline_a_form_that_answers_with_a_redirect_is_read_where_it_leads(bench: Any) -> None:
    made = bench({"/a": moved("/b", 307), "/b": html("x")}, follow="inline")
    made.crawl()
    assert made.records() == {"/a": '{"base":"/b"}'}


def turned(made: Bench, worker: Worker, requests: int) -> None:
    """Turn until so many were sent and committed."""
    until = time.monotonic() + 10
    while len(made.web.log) < requests or worker.in_hand():
        assert time.monotonic() < until, made.web.log
        if not worker.turn():
            time.sleep(0.01)


def test_each_hop_waits_for_the_hosts_delay_and_the_next_slot_comes_after_the_last(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bench({"/a": bounced("seen", html('<a href="/b">b</a>')), "/b": html("x")}, delay=0.3)
    worker = made.worker()
    paused: list[float] = []
    monkeypatch.setattr(worker._step._following, "_pause", paused.append)
    turned(made, worker, 2)
    assert len(paused) == 1
    assert 0.25 < paused[0] <= 0.3
    told = [op for row in outbox.after(made.store.db, 0) for op in split(row.ops) if op[0] == "s"]
    assert len(told) == 1
    (asked_at,) = made.page("/a", "attempted_at")
    assert asked_at + 300 <= told[0][2] <= asked_at + 1300


def test_a_delay_that_leaves_no_time_for_the_hop_is_a_failure_of_the_page(bench: Any) -> None:
    made = bench({"/a": bounced("seen", html("x"))}, delay=0.2)
    made.site.tune(total_timeout=0.1)
    turned(made, made.worker(), 1)
    assert made.page("/a", "reason") == ("time-out",)
    assert "no time to follow" in made.page("/a", "error")[0]


def test_robots_txt_holds_for_a_hop_back_to_the_same_page_too(bench: Any) -> None:
    robots = Response("", 200, {}, b"User-agent: *\nDisallow: /*from=")
    made = bench({"/robots.txt": robots, "/a": moved("/a?from=x")}, robots=True, drop_params=["from"])
    made.crawl()
    assert made.web.log == ["/robots.txt", "/a"]
