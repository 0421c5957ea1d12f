"""Turns over real SQL and both servers: the pipeline, driven by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from consuming import BASE, Bench, html, moved, shop

from limpet_consumers.http import FetchFailed, Request, Response
from limpet_store import outbox
from limpet_store.server import Server
from limpet_store.store import Store, StoreReborn, wall_ms

SHOP = {
    "/": html('<a href="/p/1">1</a><a href="/p/2">2</a><a href="http://elsewhere.example/">out</a>'),
    "/p/1": html('<b class="price">5</b>'),
    "/p/2": html('<b class="price">6</b>'),
}


@pytest.fixture
def bench(store: Store, any_server: Server) -> Callable[..., Bench]:
    return lambda answers=SHOP, **options: Bench(store, any_server, answers, shop(**options))


def test_a_crawl_stores_every_record_with_one_request_a_page(bench: Any) -> None:
    made = bench()
    made.crawl()
    assert made.records() == {"1": '{"price":"5"}', "2": '{"price":"6"}'}
    assert sorted(made.web.log) == ["/", "/p/1", "/p/2"]
    assert made.page("/", "state", "dropped") == ("done", '{"out of scope": 1}')


def test_every_request_has_an_attempt_committed_before_it(bench: Any) -> None:
    made = bench()
    seen = []

    def looked(request: Request) -> Response:
        path = request.url.removeprefix(BASE)
        seen.append(made.page(path, "open", "fence > 0"))
        return SHOP[path]

    made.web.answers = dict.fromkeys(SHOP, looked)
    made.crawl()
    assert seen == [(1, 1)] * 3


def test_a_new_round_over_an_unchanged_site_changes_nothing(bench: Any) -> None:
    made = bench()
    made.crawl()
    before = made.store.db.rows("SELECT * FROM records")
    made.again()
    rows = outbox.top(made.store.db)[0]
    worker = made.crawl()
    assert worker.progress.messages == 0
    assert len(made.web.log) == 6
    assert made.store.db.rows("SELECT * FROM records") == before
    assert not [r for r in outbox.after(made.store.db, rows + 1) if r.messages]


def test_robots_come_first_and_what_they_disallow_is_not_requested(bench: Any) -> None:
    robots = html("User-agent: *\nDisallow: /p/2")
    made = bench({**SHOP, "/robots.txt": robots}, robots=True)
    made.crawl()
    assert made.web.log[0] == "/robots.txt"
    assert sorted(made.web.log) == ["/", "/p/1", "/robots.txt"]
    assert made.page("/p/2", "state", "reason") == ("dead", "robots")


@pytest.mark.parametrize("answer", [html("<h1>no such file</h1>", 404), html("", 403)], ids=["404", "403"])
def test_a_host_without_robots_allows_everything(bench: Any, answer: Response) -> None:
    made = bench({**SHOP, "/robots.txt": answer}, robots=True)
    made.crawl()
    assert len(made.records()) == 2


@pytest.mark.parametrize("answer", [html("", 500), html("", 503), FetchFailed("time-out")], ids=str)
def test_a_host_that_cannot_say_its_robots_gives_nothing_yet(bench: Any, answer: Any) -> None:
    made = bench({**SHOP, "/robots.txt": answer}, robots=True)
    made.crawl()
    assert set(made.web.log) == {"/robots.txt"}
    assert made.page("/", "state", "failures") == ("pending", 0)


def test_a_redirect_is_an_alias_and_its_target_a_page_of_its_own(bench: Any) -> None:
    made = bench({**SHOP, "/": moved("/home"), "/home": moved("/p/1")})
    made.crawl()
    assert made.page("/", "state", "error") == ("alias", f"{BASE}/home")
    assert made.page("/p/1", "state", "hops", "depth") == ("done", 2, 0)
    assert made.records() == {"1": '{"price":"5"}'}


def test_where_a_seed_redirects_to_is_in_scope(bench: Any) -> None:
    other = "http://127.0.0.2/"
    made = bench({"/": moved(other), other: html('<a href="http://127.0.0.2/p/1">x</a>')})
    made.crawl()
    assert "http://127.0.0.2/p/1" in made.web.log


def test_where_another_page_redirects_to_is_not(bench: Any) -> None:
    made = bench({**SHOP, "/p/1": moved("http://127.0.0.2/")})
    made.crawl()
    assert made.page("/p/1", "state", "dropped") == ("alias", '{"out of scope": 1}')
    assert sorted(made.web.log) == ["/", "/p/1", "/p/2"]


def test_redirects_that_go_round_end_by_themselves(bench: Any) -> None:
    made = bench({"/": moved("/a"), "/a": moved("/b"), "/b": moved("/a")})
    made.crawl()
    assert sorted(made.web.log) == ["/", "/a", "/b"]


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (html("", 404), "dead", "broken link"),
        (html("", 410), "gone", None),
        (html("", 418), "dead", "HTTP status"),
        (html("", 204), "dead", "HTTP status"),
        (moved("ftp://x/"), "dead", "redirect"),
        (html("", 500), "pending", "HTTP status"),
        (html("", 429), "pending", "HTTP status"),
        (moved(""), "pending", "redirect"),
        (FetchFailed("cut", kind="cut short"), "pending", "cut short"),
        (FetchFailed("private", host=False, final=True), "dead", "failed"),
    ],
    ids=lambda value: getattr(value, "status", None) and f"status {value.status}",
)
def test_the_status_decides(bench: Any, answer: Any, state: str, reason: str | None) -> None:
    made = bench({**SHOP, "/": html('<a href="/p/1">1</a>'), "/p/1": answer})
    made.crawl()
    assert made.page("/p/1", "state", "reason") == (state, reason)
    assert made.records() == {}


def test_an_error_page_is_never_parsed(bench: Any) -> None:
    made = bench({**SHOP, "/p/1": html('<b class="price">0</b>', 500)})
    made.crawl()
    assert made.records() == {"2": '{"price":"6"}'}


def test_a_handler_that_fails_is_retried_and_its_error_kept(bench: Any) -> None:
    made = bench({"/": html('<a href="/bad">x</a>'), "/bad": html("x")})
    made.crawl()
    state, failures, error = made.page("/bad", "state", "failures", "error")
    assert (state, failures) == ("pending", 1)
    assert "a handler's bug" in error


def test_a_missing_value_rejects_the_record_and_the_next_visit_heals_it(bench: Any) -> None:
    made = bench({**SHOP, "/p/1": html("no price today")})
    made.crawl()
    assert made.records() == {"2": '{"price":"6"}'}
    assert made.store.db.value("SELECT count(*) FROM rejections") == 1
    made.web.answers["/p/1"] = SHOP["/p/1"]
    made.again()
    made.crawl()
    assert len(made.records()) == 2
    assert made.store.db.value("SELECT count(*) FROM rejections") == 0


def test_a_page_seen_before_is_gone_only_when_it_is_missed_in_two_rounds(bench: Any) -> None:
    made = bench()
    made.crawl()
    made.web.answers["/p/1"] = html("", 404)
    made.again()
    made.crawl()
    assert made.page("/p/1", "state", "status") == ("done", 404)
    assert "1" in made.records()
    made.again()
    made.crawl()
    assert made.page("/p/1", "state") == ("gone",)
    assert "1" not in made.records()


def test_an_etag_is_sent_back_while_the_handlers_code_is_the_same(bench: Any) -> None:
    tags = []

    def tagged(request: Request) -> Response:
        tags.append(request.headers.get("If-None-Match"))
        return html("", 304) if tags[-1] else html('<b class="price">5</b>', etag='"v1"')

    made = bench({**SHOP, "/p/1": tagged})
    made.crawl()
    made.again()
    made.crawl()
    with made.store.db.write():
        made.store.db.run("UPDATE pages SET code = 'product:another'")
    made.again()
    made.crawl()
    assert tags == [None, '"v1"', None]
    assert len(made.records()) == 2


def test_a_page_without_a_handler_is_fetched_and_marked(bench: Any) -> None:
    made = bench({"/": html('<a href="/other">x</a>'), "/other": html("x")})
    made.crawl()
    assert made.page("/other", "state", "code") == ("done", ":")


def test_a_worker_whose_lease_was_taken_commits_nothing(bench: Any) -> None:
    """The stale worker fetches, another takes the page and commits, the stale one wakes: it must lose."""
    made = bench()
    stale = made.worker("stale")
    other = made.worker("other")

    def slow(request: Request) -> Response:
        made.web.answers["/"] = SHOP["/"]
        other.frontier.reap("stale")
        made.crawl(other)
        return html('<a href="/p/9">an old page</a>')

    made.web.answers["/"] = slow
    made.crawl(stale)
    assert stale.progress.refused == 1
    assert made.page("/", "lost") == (0,)
    assert made.store.db.one("SELECT 1 FROM pages WHERE key LIKE '%/p/9'") is None
    assert len(made.records()) == 2


def test_a_page_whose_lease_is_lost_before_its_request_is_put_back(bench: Any) -> None:
    made = bench()
    worker = made.worker()
    renew = worker.held.renew

    def lost(*_: Any) -> list[Any]:
        worker.frontier.reap("w")
        renew(worker.frontier)
        return []

    relay, worker.relay = worker.relay, lost
    worker.turn()
    worker.relay = relay
    worker.turn(take=False)
    assert made.web.log == []
    assert made.page("/", "state", "open", "failures", "lost") == ("pending", 0, 0, 0)
    made.crawl(worker)
    assert len(made.records()) == 2


def test_a_clean_stop_puts_back_what_is_unfinished(bench: Any) -> None:
    made = bench()
    stop: list[int] = []
    worker = made.worker(stopping=lambda: bool(stop))
    made.crawl(worker, turns=2)
    stop.append(1)
    worker.turn()
    worker.put_back()
    assert made.store.db.value("SELECT count(*) FROM pages WHERE open = 1") == 0
    assert (
        len(made.records()) + made.store.db.value("SELECT count(*) FROM pages WHERE state = 'pending'") == 2
    )
    made.crawl()
    assert len(made.records()) == 2
    assert len(made.web.log) == 3


def test_a_frontier_that_is_lost_in_the_middle_is_built_again(bench: Any) -> None:
    made = bench()
    worker = made.worker()
    for _ in range(4):
        made.server.command("FLUSHALL")
        worker.turn()
    made.crawl(worker)
    assert len(made.records()) == 2
    assert sorted(made.web.log) == ["/", "/p/1", "/p/2"]


def test_a_store_with_another_life_ends_the_worker(bench: Any) -> None:
    from limpet_store import life

    made = bench()
    worker = made.worker()
    life.begin(made.store, made.witness, made.store.source.store_id)
    with pytest.raises(StoreReborn):
        made.crawl(worker)
    assert made.web.log == []


def test_several_requests_overlap_in_threads(bench: Any) -> None:
    site = shop()
    site.tune(threads=2)
    meet = threading.Barrier(2, timeout=10)

    def together(request: Request) -> Response:
        meet.wait()
        return SHOP[request.url.removeprefix(BASE)]

    made = bench({**SHOP, "/p/1": together, "/p/2": together})
    made.site = site
    made.crawl(turns=2_000)
    assert len(made.records()) == 2


def test_a_limited_run_sends_no_more_requests_than_asked_for(bench: Any) -> None:
    made = bench()
    made.crawl(made.worker(last_fence=2))
    assert len(made.web.log) == 2
    made.crawl()
    assert len(made.web.log) == 3


def test_a_document_that_cannot_be_read_is_looked_at_once_more_and_is_dead(bench: Any) -> None:
    picture = Response("", 200, {"content-type": "image/png"}, b"\x89PNG\r\n\x1a\n" + b"x" * 20)
    then = iter([picture, html('<b class="price">6</b>')])
    made = bench(
        {"/": html('<a href="/p/1">1</a><a href="/p/2">2</a>'), "/p/1": picture, "/p/2": lambda _: next(then)}
    )
    made.site.tune(time_scale=0.00001)
    made.crawl()
    assert made.page("/p/1", "state", "reason") == ("dead", "unreadable")
    assert made.page("/p/2", "state") == ("done",)
    assert made.web.log.count("/p/1") == 2


def test_a_page_that_died_in_its_handler_is_due_when_the_code_has_changed(bench: Any) -> None:
    made = bench(
        {"/": html('<a href="/bad">x</a><a href="/p/1">y</a>'), "/bad": html("x"), "/p/1": html("", 418)}
    )
    made.site.tune(time_scale=0.00001, max_attempts=2)
    made.crawl()
    assert made.page("/bad", "state", "reason") == ("dead", "handler")
    assert made.store.take_code("mended", now=wall_ms()) == 1
    assert made.page("/bad", "state") == ("pending",)
    assert made.page("/p/1", "state") == ("dead",), "it was no handler's fault"
