"""Dead pages: which are found by which filter, and that retrying makes exactly those due, with a clean record."""

from __future__ import annotations

import pytest
from consuming import BASE, Bench, html

from limpet_store import dead
from limpet_store.dead import Which
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

PATHS = ["/bad", "/p/1", "/p/2", "/missing", "/500", "/p/[x]"]
ANSWERS = {
    "/": html("".join(f'<a href="{path}">x</a>' for path in PATHS)),
    "/bad": html("<p>"),
    "/p/1": html("<p>", 401),
    "/p/2": html("<p>"),
    "/500": html("<p>", 403),
    "/p/[x]": html("<p>", 402),
}


@pytest.fixture
def bench(store: Store, any_server: Server) -> Bench:
    found = Bench(store, any_server, ANSWERS)
    found.site.tune(max_attempts=2, time_scale=1e-6)
    found.crawl(turns=200)
    return found


def paths(bench: Bench, **which: object) -> set[str]:
    return {page.url.removeprefix(BASE) for page in dead.find(bench.store, Which(**which))}  # type: ignore[arg-type]


def test_failures_are_listed_and_what_is_nobodys_fault_only_by_its_reason(bench: Bench) -> None:
    assert paths(bench) >= {"/bad", "/p/1"}
    assert "/missing" not in paths(bench)
    assert paths(bench, reason="broken link") == {"/missing"}
    assert paths(bench, urls=(f"{BASE}/missing",)) == {"/missing"}


def test_each_filter_finds_its_own(bench: Bench) -> None:
    assert paths(bench, reason="handler") == {"/bad"}
    assert paths(bench, error="a handler's bug") == {"/bad"}
    assert paths(bench, match=f"{BASE}/p/?") == {"/p/1"}
    assert paths(bench, match="*[x]*") <= {"/p/[x]"}, "brackets are themselves"
    assert paths(bench, match="/p/*") == set(), "the whole URL has to fit"
    assert paths(bench, host="127.0.0.1") == paths(bench, host=BASE) == paths(bench)
    assert paths(bench, host="127.0.0.2") == set()
    assert paths(bench, host="127.0.0.1", error="401") == {"/p/1"}


def test_why_it_died_is_there_with_the_traceback_and_the_tries(bench: Bench) -> None:
    (page,) = dead.find(bench.store, Which(reason="handler"))
    assert (page.failures, page.lost, page.host) == (2, 0, BASE)
    assert page.error is not None
    assert "RuntimeError: a handler's bug" in page.error
    assert "in bad" in page.error


def test_a_retried_page_has_all_its_tries_again_and_the_others_stay_dead(bench: Bench) -> None:
    before = paths(bench)
    bench.web.log.clear()
    assert dead.retry(bench.store, Which(reason="handler"), now=wall_ms()) == 1
    assert bench.page("/bad", "state", "failures", "reason", "error") == ("pending", 0, None, None)
    worker = bench.worker()
    worker.relay()
    bench.crawl(worker)
    assert bench.web.log == ["/bad", "/bad"]
    assert paths(bench) == before, "it fails as before"


def test_all_of_many_are_retried_once(store: Store, any_server: Server) -> None:
    many = {f"/p/{n}": html("<p>", 401) for n in range(1200)}
    links = "".join(f'<a href="{path}">x</a>' for path in many)
    bench = Bench(store, any_server, {"/": html(links), **many})
    bench.crawl(turns=2000)
    assert dead.retry(store, Which(), now=wall_ms()) == 1200
    assert dead.retry(store, Which(), now=wall_ms()) == 0, "they are pending now"
    bench.web.log.clear()
    worker = bench.worker()
    worker.relay()
    bench.crawl(worker, turns=2000)
    assert sorted(bench.web.log) == sorted(many)


def test_what_was_forgotten_is_no_dead_page(bench: Bench) -> None:
    with bench.store.db.write():
        bench.store.db.run(
            "UPDATE pages SET forgotten = 1, reason = 'forgotten' WHERE key = ?", (f"{BASE}/bad",)
        )
    assert paths(bench, reason="forgotten") == paths(bench, urls=(f"{BASE}/bad",)) == set()
    assert dead.retry(bench.store, Which(urls=(f"{BASE}/bad",)), now=wall_ms()) == 0
