"""Pausing a crawl or a host: nothing is begun, whatever the frontier still believes, until it is resumed."""

from __future__ import annotations

import pytest
from consuming import BASE, Bench, html
from store_making import built, host, lease, pages, row

from limpet_producer import enqueue
from limpet_store import pausing, summary
from limpet_store.frontier import Frontier
from limpet_store.rebuild import rebuild
from limpet_store.server import Server
from limpet_store.store import Store, wall_ms

ANSWERS = {"/": html('<a href="/p/1">x</a><a href="/p/2">x</a>'), "/p/1": html("<p>"), "/p/2": html("<p>")}


@pytest.fixture
def bench(store: Store, any_server: Server) -> Bench:
    return Bench(store, any_server, ANSWERS)


def test_a_paused_frontier_hands_out_nothing_and_all_of_it_later(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 3), ("c", 1)))
    assert lease(frontier) == []
    assert frontier.census([1]).delayed == 3
    frontier.apply((1, "m1"), [row(2, ("c", 0))])
    assert lease(frontier) == [1, 2, 3]


def test_a_lease_call_whose_reply_was_lost_is_answered_in_a_pause_too(any_server: Server) -> None:
    frontier = built(any_server, row(1, host(), pages(1, 2)))
    assert lease(frontier, "n1") == [1, 2]
    frontier.apply((1, "m1"), [row(2, ("c", 1))])
    assert lease(frontier, "n1") == [1, 2]
    assert lease(frontier, "n2") == []


def test_nothing_is_begun_after_a_pause_and_everything_after_it(bench: Bench) -> None:
    assert pausing.crawl(bench.store, True, now=wall_ms())
    assert not pausing.crawl(bench.store, True, now=wall_ms()), "it is paused already"
    worker = bench.worker()
    worker.relay()
    bench.crawl(worker)
    assert bench.web.log == []
    assert pausing.crawl(bench.store, False, now=wall_ms())
    worker.relay()
    bench.crawl(worker)
    assert sorted(bench.web.log) == ["/", "/p/1", "/p/2"]


def test_a_page_that_was_leased_before_the_pause_is_put_back_before_its_request(bench: Bench) -> None:
    pausing.crawl(bench.store, True, now=wall_ms())  # which the frontier has not been told yet
    worker = bench.worker()
    assert worker.turn()
    assert worker.progress.leased == 1
    assert bench.web.log == []
    assert bench.page("/", "state", "open") == ("pending", 0)
    pausing.crawl(bench.store, False, now=wall_ms())
    worker.relay()
    bench.crawl(worker)
    assert sorted(bench.web.log) == ["/", "/p/1", "/p/2"]


def test_a_page_in_flight_is_finished_and_what_it_leads_to_waits(bench: Bench) -> None:
    worker = bench.worker()
    worker.turn()
    assert bench.web.log == ["/"]
    pausing.crawl(bench.store, True, now=wall_ms())
    assert summary.next_due(bench.store, wall_ms()) is not None, "one is in flight"
    bench.crawl(worker)
    assert bench.page("/", "state") == ("done",)
    assert bench.page("/p/1", "state") == ("pending",)
    assert bench.web.log == ["/"]
    assert summary.next_due(bench.store, wall_ms()) is None, "and then nothing comes"


@pytest.mark.parametrize("paused", [True, False])
def test_a_rebuilt_frontier_knows_it(bench: Bench, paused: bool) -> None:
    pausing.crawl(bench.store, True, now=wall_ms())
    if not paused:
        pausing.crawl(bench.store, False, now=wall_ms())
    bench.server.command("FLUSHALL")
    frontier = Frontier(bench.server, "shop", bench.store.source.store_id)
    assert rebuild(bench.store, frontier, bench.witness, lease=1000)
    assert bool(lease(frontier)) is not paused


def test_a_host_is_paused_and_the_others_are_not(bench: Bench) -> None:
    other = f"{BASE}:8001"
    bench.web.answers[":8001/p/9"] = html("<p>")
    bench.site = type(bench.site)("shop", [f"{BASE}/", f"{other}/p/9"], robots=False, allow_private=True)
    worker = bench.worker()
    enqueue.seeds(bench.store, bench.site.entries, worker.hosts, now=wall_ms())
    found = pausing.named(bench.store, "127.0.0.1:8001")
    assert list(found.values()) == [other]
    assert pausing.host(bench.store, list(found), True, now=wall_ms()) == list(found)
    assert pausing.host(bench.store, list(found), True, now=wall_ms()) == []
    worker.relay()
    bench.crawl(worker)
    assert "/" in bench.web.log
    assert ":8001/p/9" not in bench.web.log
    pausing.host(bench.store, list(found), False, now=wall_ms())
    worker.relay()
    bench.crawl(worker)
    assert ":8001/p/9" in bench.web.log


@pytest.mark.parametrize(
    ("name", "count"),
    [("127.0.0.1", 1), ("127.0.0.1:80", 1), ("http://127.0.0.1", 1), ("http://127.0.0.1/", 1),
     ("HTTP://127.0.0.1:80", 1), ("https://127.0.0.1", 0), ("127.0.0.1:81", 0), ("127", 0), ("", 0), ("%", 0)],
)  # fmt: skip
def test_a_host_goes_by_its_name_its_port_and_its_origin(bench: Bench, name: str, count: int) -> None:
    assert len(pausing.named(bench.store, name)) == count
